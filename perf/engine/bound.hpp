// The bound: how long a collective must take at least where all ranks of a rack share one link of a
// known rate, whatever the algorithm, without compression:
//
//   time >= latency + bytes / rate
//   bytes = the larger of: what some one rack must send, and what all racks must send, shared
//           evenly
//
// A range of elements that moves from one rank must leave its rack once if any other rack needs it,
// and must be sent once for each rack that needs it, by anybody. A range that is summed over D
// racks takes D - 1 sendings to one rack that needs the sum, and one more to each further one.
// Pure; costs a sort of all ranks' pieces.
#pragma once

#include "perf/engine/collective.hpp"

namespace strait::perf {

// Elements that a rack must send. `domain_of`: each rank's rack, 0 and up.
double elements_to_send(const Collective& collective, Shape shape,
                        const std::vector<int>& domain_of);

// How the bound of a measurement is counted.
struct BoundRule {
  double bytes_per_us = 0;  // of what leaves a rack; 0: unknown, and there is no bound
  double latency_us = 0;
};

// Microseconds; 0 where nothing has to cross.
double bound_us(const BoundRule& rule, const Collective& collective, const Shape& shape,
                const std::vector<int>& domain_of);

}  // namespace strait::perf
