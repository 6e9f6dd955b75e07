#include "perf/engine/worker.hpp"

#include <array>
#include <cstdio>
#include <map>
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

uint64_t timed_operations(const Options& options) {
  return static_cast<uint64_t>(options.iterations) * static_cast<uint64_t>(options.aggregate) *
         static_cast<uint64_t>(std::max(options.graph_launches, 1));
}

// The slowest of several rows, iteration by iteration.
void raise_to(const double* row, std::vector<double>* slowest) {
  for (size_t i = 0; i < slowest->size(); ++i) (*slowest)[i] = std::max((*slowest)[i], row[i]);
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

void Worker::add_iterations(const Times& times, Side* side) const {
  const Options& options = context_.options;
  std::vector<double> mine = times.each_us;
  for (double& time : mine) time /= options.aggregate;
  const size_t count = mine.size();
  const auto all = context_.team.exchange<double>(thread_, mine);
  Iterations iterations;
  iterations.times_us.assign(count, 0);
  const auto threads = static_cast<size_t>(context_.team.threads());
  for (size_t row = 0; row < all.size() / count; ++row) {
    if (row % threads == 0) iterations.by_process.emplace_back(count, 0.0);
    raise_to(all.data() + row * count, &iterations.by_process.back());
    raise_to(all.data() + row * count, &iterations.times_us);
  }
  const auto counted = iterations.times_us.begin() + options.per_iteration_skip;
  iterations.statistics = statistics_of({counted, iterations.times_us.end()});
  if (options.median) {
    std::vector<double> each;
    for (auto i = static_cast<size_t>(options.per_iteration_skip); i < count; ++i) {
      std::vector<double> column;
      for (size_t at = i; at < all.size(); at += count) column.push_back(all[at]);
      each.push_back(combine(column));
    }
    side->time_us = statistics_of(std::move(each)).p50_us;
  }
  side->each = std::move(iterations);
}

Side Worker::side_of(const Bench& bench, const Times& times) const {
  const Options& options = context_.options;
  const Collective& collective = context_.collective;
  Side side;
  const double own_us =
      (options.cpu_time ? times.enqueue_us : times.elapsed_us) / options.aggregate;
  const auto all_us = context_.team.exchange<double>(thread_, std::span(&own_us, 1));
  side.time_us = combine(all_us);
  side.slowest_us = *std::max_element(all_us.begin(), all_us.end());
  if (options.times_each_iteration()) add_iterations(times, &side);
  const Shape& shape = bench.shape();
  const uint64_t moved =
      collective.moved != nullptr ? collective.moved(shape) : bench.layout().total;
  side.algorithm_gbps = gbps(static_cast<double>(moved * shape.element_bytes), side.time_us);
  side.bus_gbps = side.algorithm_gbps * collective.bus_factor(context_.rank_count());
  return side;
}

Status Worker::add_traffic(const Bench& bench, const Traffic& before,
                           const std::vector<uint64_t>& links_before, Row* row) const {
  const Options& options = context_.options;
  STRAIT_ASSIGN(const Traffic after, bench.traffic());
  const std::array<uint64_t, 2> sent = {after.value_bytes - before.value_bytes,
                                        after.wire_bytes - before.wire_bytes};
  const auto all = context_.team.exchange<uint64_t>(thread_, sent);
  uint64_t value_bytes = 0, wire_bytes = 0;
  for (size_t i = 0; i < all.size(); i += 2) {
    value_bytes += all[i];
    wire_bytes += all[i + 1];
  }
  const uint64_t operations = timed_operations(options);
  row->wire_bytes = wire_bytes / operations;
  if (value_bytes > 0)
    row->wire_saving =
        100 * (1 - static_cast<double>(wire_bytes) / static_cast<double>(value_bytes));
  if (options.per_link) {
    STRAIT_ASSIGN(const std::vector<uint64_t> links_after, bench.traffic_by_peer());
    add_links(links_before, links_after, row);
  }
  return {};
}

void Worker::add_links(const std::vector<uint64_t>& before, const std::vector<uint64_t>& after,
                       Row* row) const {
  const Options& options = context_.options;
  const uint64_t operations = timed_operations(options);
  // The sender's group knows its peers by their numbers in the communicator.
  std::vector<uint64_t> mine;
  const size_t per_seat = 2 * static_cast<size_t>(context_.world_size);
  for (size_t seat = 0; seat < seats_.size(); ++seat)
    for (size_t peer = 0; peer < context_.world_rank.size(); ++peer) {
      const size_t at = seat * per_seat + 2 * peer;
      if (after[at] == before[at]) continue;
      const auto rank = static_cast<size_t>(seats_[seat]->rank());
      mine.insert(mine.end(), {static_cast<uint64_t>(context_.world_rank[rank]),
                               static_cast<uint64_t>(context_.world_rank[peer]),
                               (after[at] - before[at]) / operations,
                               (after[at + 1] - before[at + 1]) / operations});
    }
  mine.resize(2 * per_seat * seats_.size());  // everybody gives as many numbers; zeros end a list
  const auto all = context_.team.exchange<uint64_t>(thread_, mine);
  for (size_t at = 0; at < all.size(); at += 4)
    if (all[at] != all[at + 1])
      row->links.push_back(
          {static_cast<int>(all[at]), static_cast<int>(all[at + 1]), all[at + 2], all[at + 3]});
}

Result<uint64_t> Worker::checked(Bench& bench, Placement placement) {
  uint64_t wrong = 0;
  for (int again = 0; again < context_.options.check; ++again) {
    STRAIT_TRY(bench.fill(placement));
    context_.team.barrier(thread_);
    auto run =
        bench.run(placement, {.graph_launches = std::min(context_.options.graph_launches, 1)}, 1);
    if (!run.ok()) return run.status();
    STRAIT_ASSIGN(const uint64_t found, bench.check(placement, context_.expected));
    wrong += found;
  }
  return sum_of(context_.team.exchange<uint64_t>(thread_, std::span(&wrong, 1)));
}

Result<Side> Worker::measure_side(Bench& bench, Placement placement, Row* traffic) {
  const Options& options = context_.options;
  STRAIT_TRY(bench.fill(placement));
  context_.team.barrier(thread_);
  if (options.warmup > 0) {
    auto warm =
        bench.run(placement, {.iterations = options.warmup, .wait_each = options.blocking > 0},
                  options.aggregate);
    if (!warm.ok()) return warm.status();
  }
  STRAIT_ASSIGN(const Traffic before, bench.traffic());
  std::vector<uint64_t> links_before;
  if (options.per_link) {
    STRAIT_ASSIGN(links_before, bench.traffic_by_peer());
  }
  context_.team.barrier(thread_);
  STRAIT_ASSIGN(const Times times, bench.run(placement,
                                             {.iterations = options.iterations,
                                              .wait_each = options.blocking > 0,
                                              .time_each = options.times_each_iteration(),
                                              .graph_launches = options.graph_launches},
                                             options.aggregate));
  if (traffic != nullptr) STRAIT_TRY(add_traffic(bench, before, links_before, traffic));
  return side_of(bench, times);
}

Result<uint64_t> Worker::compare_hashes(const Bench& bench, Row* row) const {
  std::vector<uint64_t> mine;  // colour of the group and hash, rank by rank
  STRAIT_ASSIGN(const std::vector<uint64_t> hashes, bench.hashes(Placement::kOutOfPlace));
  for (const uint64_t hash : hashes)
    mine.insert(mine.end(), {static_cast<uint64_t>(context_.color), hash});
  const auto all = context_.team.exchange<uint64_t>(thread_, mine);
  row->result_hash = all[1];
  if (!context_.collective.same_everywhere) return 0;
  uint64_t differing = 0;
  std::map<uint64_t, uint64_t> first;  // by colour
  for (size_t at = 0; at < all.size(); at += 2) {
    if (first.emplace(all[at], all[at + 1]).first->second == all[at + 1]) continue;
    ++differing;
    if (reports())
      std::fprintf(stderr, "# wrong: rank %zu has a result of other bits than its group's first\n",
                   at / 2);
  }
  return differing;
}

Result<Row> Worker::measure(const Test& test, uint64_t* errors) {
  const Collective& collective = context_.collective;
  const bool checks = context_.options.check > 0;
  Row row;
  if (thread_ == 0) context_.alarm.arm();
  Bench bench(context_, thread_, seats_, test);
  row.bytes = bench.layout().total * size_of(test.type);
  row.count = bench.layout().count;
  row.type = test.type;
  row.kind = collective.reduces ? std::string(name_of(test.kind)) : "none";
  row.root = collective.rooted ? test.root : -1;
  row.iterations = context_.options.iterations;
  if (reports())
    row.bound_us = bound_us(context_.bound, collective, bench.shape(), context_.domain_of);
  STRAIT_TRY(bench.make_operations());
  if (checks) bench.make_expected(&context_.expected);
  STRAIT_ASSIGN(row.out_of_place, measure_side(bench, Placement::kOutOfPlace, &row));
  if (checks) {
    STRAIT_ASSIGN(row.out_of_place.wrong, checked(bench, Placement::kOutOfPlace));
  }
  STRAIT_ASSIGN(const uint64_t differing, compare_hashes(bench, &row));
  // Where there is no such thing as in place, the columns show a second run out of place.
  const Placement second = collective.in_place ? Placement::kInPlace : Placement::kOutOfPlace;
  STRAIT_ASSIGN(row.in_place, measure_side(bench, second, nullptr));
  if (checks && collective.in_place) {
    STRAIT_ASSIGN(row.in_place.wrong, checked(bench, second));
  }
  bench.destroy_operations();
  if (thread_ == 0) context_.alarm.disarm();
  for (Side* side : {&row.out_of_place, &row.in_place})
    if (row.bound_us > 0 && side->slowest_us > 0)
      side->bound_percent = 100 * row.bound_us / side->slowest_us;
  if (reports() && collective.footnotes != nullptr)
    row.footnotes = collective.footnotes(bench.shape(), row.out_of_place.time_us);
  *errors += row.out_of_place.wrong.value_or(0) + row.in_place.wrong.value_or(0) + differing;
  return row;
}

}  // namespace strait::perf
