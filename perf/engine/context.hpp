// Context: what all threads of a process share while they measure. Made and owned by the session,
// read by all threads; the expected result is written in slices, each by one thread, between two
// local barriers.
#pragma once

#include <vector>

#include "perf/data/reference.hpp"
#include "perf/engine/alarm.hpp"
#include "perf/engine/bound.hpp"
#include "perf/engine/collective.hpp"
#include "perf/engine/team.hpp"
#include "perf/options.hpp"

namespace strait::perf {

struct Context {
  const Collective& collective;
  const Options& options;
  const Reference& reference;
  // Small messages between racks are added in the order of ranks, as if there were no racks; null
  // where that is the same.
  const Reference* direct_reference;
  Team& team;
  Alarm& alarm;
  std::vector<int> world_rank;  // of this process's group, by rank in the communicator
  std::vector<int> domain_of;   // the same
  int color = 0;                // of the group
  int world_size = 1;           // ranks of all groups
  BoundRule bound;
  std::vector<std::byte> expected;  // of the running test, where every rank receives the same

  int rank_count() const { return static_cast<int>(world_rank.size()); }
};

}  // namespace strait::perf
