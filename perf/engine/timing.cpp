#include "perf/engine/timing.hpp"

#include "base/clock.hpp"

namespace strait::perf {

Result<Times> time_runs(const TimedWork& work, const Repetitions& repetitions) {
  Times times;
  if (repetitions.time_each) times.each_us.reserve(static_cast<size_t>(repetitions.iterations));
  int64_t enqueue_ns = 0;
  const int64_t begin_ns = now_ns();
  for (int i = 0; i < repetitions.iterations; ++i) {
    const int64_t launch_ns = now_ns();
    STRAIT_TRY(work.launch());
    enqueue_ns += now_ns() - launch_ns;
    if (repetitions.wait_each || repetitions.time_each) STRAIT_TRY(work.wait());
    if (repetitions.time_each)
      times.each_us.push_back(static_cast<double>(now_ns() - launch_ns) / 1e3);
  }
  STRAIT_TRY(work.wait());
  const double per_ns = 1e3 * repetitions.iterations;
  times.elapsed_us = static_cast<double>(now_ns() - begin_ns) / per_ns;
  times.enqueue_us = static_cast<double>(enqueue_ns) / per_ns;
  return times;
}

}  // namespace strait::perf
