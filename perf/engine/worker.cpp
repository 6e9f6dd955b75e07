#include "perf/engine/worker.hpp"

#include <array>
#include <cstdio>
#include <numeric>

namespace strait::perf {
namespace {

// (bytes / 1e9) / (us / 1e6)
double gbps(double bytes, double time_us) {
  return time_us > 0 ? bytes / time_us / 1e3 : 0;
}

uint64_t sum_of(const std::vector<uint64_t>& values) {
  return std::accumulate(values.begin(), values.end(), uint64_t{0});
}

}  // namespace

double Worker::combine(const std::vector<double>& times_us) const {
  switch (context_.options.average) {
    case 0:
      return times_us.front();
    case 2:
      return *std::min_element(times_us.begin(), times_us.end());
    case 3:
      return *std::max_element(times_us.begin(), times_us.end());
    default:
      return std::accumulate(times_us.begin(), times_us.end(), 0.0) /
             static_cast<double>(times_us.size());
  }
}

Side Worker::side_of(const Times& times, uint64_t bytes) const {
  const Options& options = context_.options;
  Side side;
  const double own_us = options.cpu_time ? times.enqueue_us : times.elapsed_us;
  side.time_us = combine(context_.team.exchange<double>(thread_, std::span(&own_us, 1)));
  if (options.times_each_iteration()) {
    const auto all = context_.team.exchange<double>(thread_, times.each_us);
    const size_t per_thread = times.each_us.size();
    std::vector<double> each;
    for (auto i = static_cast<size_t>(options.per_iteration_skip); i < per_thread; ++i) {
      std::vector<double> column;
      for (size_t at = i; at < all.size(); at += per_thread) column.push_back(all[at]);
      each.push_back(combine(column));
    }
    side.each = statistics_of(each);
    if (options.median) side.time_us = side.each->p50_us;
  }
  side.time_us /= options.aggregate;
  side.algorithm_gbps = gbps(static_cast<double>(bytes), side.time_us);
  side.bus_gbps = side.algorithm_gbps * context_.collective.bus_factor(context_.rank_count);
  return side;
}

Result<Times> Worker::timed(Bench& bench, Placement placement, Row* row) {
  const Options& options = context_.options;
  bench.fill(placement);
  context_.team.barrier(thread_);
  if (options.warmup > 0) {
    auto warm =
        bench.run(placement, {options.warmup, options.blocking > 0, false}, options.aggregate);
    if (!warm.ok()) return warm.status();
  }
  STRAIT_ASSIGN(const Traffic before, bench.traffic());
  context_.team.barrier(thread_);
  STRAIT_ASSIGN(Times times, bench.run(placement,
                                       {options.iterations, options.blocking > 0,
                                        options.times_each_iteration()},
                                       options.aggregate));
  STRAIT_ASSIGN(const Traffic after, bench.traffic());
  if (placement == Placement::kOutOfPlace) {
    const std::array<uint64_t, 2> sent = {after.value_bytes - before.value_bytes,
                                          after.wire_bytes - before.wire_bytes};
    const auto all = context_.team.exchange<uint64_t>(thread_, sent);
    uint64_t value_bytes = 0, wire_bytes = 0;
    for (size_t i = 0; i < all.size(); i += 2) {
      value_bytes += all[i];
      wire_bytes += all[i + 1];
    }
    row->wire_bytes = wire_bytes / static_cast<uint64_t>(options.iterations) /
                      static_cast<uint64_t>(options.aggregate);
    if (value_bytes > 0)
      row->wire_saving =
          100 * (1 - static_cast<double>(wire_bytes) / static_cast<double>(value_bytes));
  }
  return times;
}

Result<uint64_t> Worker::checked(Bench& bench, Placement placement) {
  uint64_t wrong = 0;
  for (int again = 0; again < context_.options.check; ++again) {
    bench.fill(placement);
    context_.team.barrier(thread_);
    auto run = bench.run(placement, {1, false, false}, 1);
    if (!run.ok()) return run.status();
    wrong += bench.check(placement, context_.expected);
  }
  return sum_of(context_.team.exchange<uint64_t>(thread_, std::span(&wrong, 1)));
}

Result<Side> Worker::measure_side(Bench& bench, const Test& test, Placement placement, Row* row) {
  STRAIT_ASSIGN(const Times times, timed(bench, placement, row));
  Side side = side_of(times, test.elements * size_of(test.type));
  if (context_.options.check > 0) {
    STRAIT_ASSIGN(side.wrong, checked(bench, placement));
  }
  return side;
}

uint64_t Worker::compare_hashes(const Bench& bench, Row* row) const {
  const auto all = context_.team.exchange<uint64_t>(thread_, bench.hashes(Placement::kOutOfPlace));
  row->result_hash = all.front();
  if (!context_.collective.same_everywhere) return 0;
  uint64_t differing = 0;
  for (size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank] == all.front()) continue;
    ++differing;
    if (thread_ == 0 && context_.team.launcher().rank() == 0)
      std::fprintf(stderr, "# wrong: rank %zu has a result of other bits than rank 0\n", rank);
  }
  return differing;
}

Result<Row> Worker::measure(const Test& test, uint64_t* errors) {
  Row row;
  row.bytes = test.elements * size_of(test.type);
  row.count = test.elements;
  row.type = test.type;
  row.kind = context_.collective.reduces ? std::string(name_of(test.kind)) : "none";
  row.root = context_.collective.rooted ? test.root : -1;
  row.iterations = context_.options.iterations;
  if (thread_ == 0) context_.alarm.arm();
  Bench bench(context_, thread_, seats_, test);
  STRAIT_TRY(bench.make_operations());
  if (context_.options.check > 0) bench.make_expected(&context_.expected);
  STRAIT_ASSIGN(row.out_of_place, measure_side(bench, test, Placement::kOutOfPlace, &row));
  const uint64_t differing = compare_hashes(bench, &row);
  STRAIT_ASSIGN(row.in_place, measure_side(bench, test, Placement::kInPlace, &row));
  bench.destroy_operations();
  if (thread_ == 0) context_.alarm.disarm();
  *errors += row.out_of_place.wrong.value_or(0) + row.in_place.wrong.value_or(0) + differing;
  return row;
}

}  // namespace strait::perf
