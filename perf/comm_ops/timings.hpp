// Timings: how long the events of one communicator size took, on every rank. Each thread has its
// own and records the same events in the same order; those that a rank has no part in are recorded
// as missed. Every few events the threads exchange them, and the first thread of process 0 sums
// them up. Costs two clock readings an event, and a barrier each exchange.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "perf/comm_ops/options.hpp"
#include "perf/engine/team.hpp"

namespace strait::perf {

enum class Event {
  kBarrier,
  kIds,
  kPrepare,
  kInit,
  kSplit,
  kGrow,
  kAllReduce,
  kFinalize,
  kDestroy,
  kAbort,
  kShrink,
  kSynchronize,
};
inline constexpr int kEventCount = 12;

const char* name_of(Event event);
bool is_of_library(Event event);

class Timings {
 public:
  Timings(const CommOptions& options, Team& team, int thread, int comm_size)
      : options_(options), team_(team), thread_(thread), comm_size_(comm_size) {}

  // Warm-up is carried out and not recorded.
  void record(bool on) { recording_ = on; }
  // Carries `action` out where `takes_part`, and takes its time.
  Status time(Event event, bool takes_part, const std::function<Status()>& action);
  // What is left; every thread comes here.
  void flush();
  // One line for each event that happened, in nccl-tests' form.
  std::vector<std::string> summary() const;

 private:
  struct Entry {
    int event;
    int took_part;
    int64_t ns;
  };
  struct Sum {
    int64_t rounds = 0, parts = 0;
    double ms = 0, squares = 0, max_ms = 0;

    void add(const Entry& entry);
    double mean() const;
    double deviation() const;
  };

  void tell(Event event, const Sum& sum) const;
  bool shown(Event event) const { return options_.all_timers || is_of_library(event); }

  const CommOptions& options_;
  Team& team_;
  int thread_;
  int comm_size_;
  bool recording_ = true;
  std::vector<Entry> entries_;  // since the last exchange
  std::array<Sum, kEventCount> sums_;
};

}  // namespace strait::perf
