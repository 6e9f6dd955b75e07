// Launcher: the processes of one measurement, however they were started, and the few words they
// must exchange: where to meet, times, statistics. One per process, made by launch() from the
// environment; its methods are called by the main thread, except abort(), which any thread may
// call. Calls are collective and cost a round trip over process 0; they are never part of what is
// timed.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "perf/launch/environment.hpp"

namespace strait::perf {

class Launcher {
 public:
  virtual ~Launcher() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Process 0's bytes to everyone; the same number of bytes everywhere.
  virtual Status broadcast(std::span<std::byte> bytes) = 0;
  // Everyone's bytes, in the order of ranks; the same number of bytes everywhere.
  virtual Result<std::vector<std::byte>> all_gather(std::span<const std::byte> mine) = 0;
  virtual Status barrier() = 0;
  // The orderly end: every process comes here, afterwards only the destructor may be called.
  virtual Status finish() = 0;
  // Ends this process with the code, and the others as soon as they notice.
  [[noreturn]] virtual void abort(int code) = 0;
};

// Joins the processes that `environment` speaks of; waits for them, with a deadline.
Result<std::unique_ptr<Launcher>> launch(const LaunchEnvironment& environment);

}  // namespace strait::perf
