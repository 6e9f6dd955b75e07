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
  // traffic: the row that tells what crossed between racks, or null.
  Result<Side> measure_side(Bench& bench, Placement placement, Row* traffic);
  Result<uint64_t> checked(Bench& bench, Placement placement);
  // One time from all threads' times, as -a asks.
  double combine(const std::vector<double>& times_us) const;
  Side side_of(const Bench& bench, const Times& times) const;
  void add_iterations(const Times& times, Side* side) const;
  // Between racks, of everything since `before`.
  Status add_traffic(const Bench& bench, const Traffic& before,
                     const std::vector<uint64_t>& links_before, Row* row) const;
  void add_links(const std::vector<uint64_t>& before, const std::vector<uint64_t>& after,
                 Row* row) const;
  Result<uint64_t> compare_hashes(const Bench& bench, Row* row) const;
  bool reports() const { return thread_ == 0 && context_.team.launcher().rank() == 0; }

  Context& context_;
  int thread_;
  std::vector<Seat*> seats_;
};

}  // namespace strait::perf
