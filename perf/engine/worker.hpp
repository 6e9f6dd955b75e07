// Worker: what one thread of the measurement does for each test, in step with all other threads of
// all processes: expected result, warm-up, timed iterations, check iterations, once out of place
// and once in place.
#pragma once

#include "perf/engine/bench.hpp"
#include "perf/engine/row.hpp"

namespace strait::perf {

class Worker {
 public:
  Worker(Context& context, int thread, std::vector<Seat*> seats)
      : context_(context), thread_(thread), seats_(std::move(seats)) {}

  // The same row on every thread. `errors` counts what the row's own columns have no place for.
  Result<Row> measure(const Test& test, uint64_t* errors);

 private:
  Result<Side> measure_side(Bench& bench, const Test& test, Placement placement, Row* row);
  Result<Times> timed(Bench& bench, Placement placement, Row* row);
  Result<uint64_t> checked(Bench& bench, Placement placement);
  // One time from all threads' times, as -a asks.
  double combine(const std::vector<double>& times_us) const;
  Side side_of(const Times& times, uint64_t bytes) const;
  uint64_t compare_hashes(const Bench& bench, Row* row) const;

  Context& context_;
  int thread_;
  std::vector<Seat*> seats_;
};

}  // namespace strait::perf
