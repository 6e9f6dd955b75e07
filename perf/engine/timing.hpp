// time_runs: runs something again and again and takes its time, as a whole or each iteration by
// itself. Called by one thread; costs two clock readings per iteration at most.
#pragma once

#include <functional>
#include <vector>

#include "base/status.hpp"

namespace strait::perf {

struct Repetitions {
  int iterations = 1;
  bool wait_each = false;  // for its completion before the next
  bool time_each = false;  // and take each one's time
  int graph_launches = 0;  // of all iterations as one graph; 0: no graph
};

struct Times {
  double elapsed_us = 0;  // per iteration
  double enqueue_us = 0;  // per iteration, without the wait for completion
  std::vector<double> each_us;
};

struct TimedWork {
  std::function<Status()> launch;
  std::function<Status()> wait;
};

Result<Times> time_runs(const TimedWork& work, const Repetitions& repetitions);

}  // namespace strait::perf
