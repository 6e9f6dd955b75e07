// Context: what all threads of a process share while they measure. Made and owned by the session,
// read by all threads; the expected result is written in slices, each by one thread, between two
// local barriers.
#pragma once

#include <vector>

#include "perf/engine/alarm.hpp"
#include "perf/engine/collective.hpp"
#include "perf/engine/team.hpp"
#include "perf/options.hpp"

namespace strait::perf {

struct Context {
  const Collective& collective;
  const Options& options;
  const Reference& reference;
  Team& team;
  Alarm& alarm;
  int rank_count;
  std::vector<std::byte> expected;  // of the running test, where every rank receives the same
};

}  // namespace strait::perf
