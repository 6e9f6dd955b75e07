#include "perf/engine/bench.hpp"

#include <strait.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <cstdio>
#include <cstring>

#include "perf/data/number.hpp"
#include "perf/engine/expected.hpp"

namespace strait::perf {
namespace {

constexpr int kPoison = 0x5a;  // what a result buffer holds before the result

ncclDataType_t nccl_type(DataType type) {
  return static_cast<ncclDataType_t>(type);
}

// One or two as an element of the type, for ncclRedOpCreatePreMulSum.
std::array<std::byte, 8> scalar_of(DataType type, int value) {
  std::array<std::byte, 8> bytes{};
  with_type(type, [&]<class T>(T) {
    const T scalar = store<T>(static_cast<Accumulator<T>>(value));
    std::memcpy(bytes.data(), &scalar, sizeof(T));
  });
  return bytes;
}

}  // namespace

Bench::Bench(const Context& context, int thread, std::span<Seat* const> seats, const Test& test)
    : context_(context),
      thread_(thread),
      seats_(seats),
      test_(test),
      // What only moves is any bits: those of inputs to a maximum.
      problem_{test.type, context.collective.reduces ? test.kind : ReduceKind::kMax,
               context.rank_count()} {
  for (const Seat* seat : seats_) {
    const Shape shape{test.elements, size_of(test.type), context.rank_count(), seat->rank(),
                      test.root};
    places_.push_back({shape,
                       context.collective.layout(shape),
                       context.collective.result(shape),
                       static_cast<ncclRedOp_t>(test.kind),
                       {}});
  }
}

Status Bench::make_operations() {
  if (test_.kind != ReduceKind::kPreMulSum) return {};
  for (size_t i = 0; i < seats_.size(); ++i) {
    auto scalar = scalar_of(test_.type, premultiplier(seats_[i]->rank()));
    STRAIT_TRY(told("ncclRedOpCreatePreMulSum",
                    ncclRedOpCreatePreMulSum(&places_[i].op, scalar.data(), nccl_type(test_.type),
                                             ncclScalarHostImmediate, seats_[i]->comm())));
  }
  return {};
}

void Bench::destroy_operations() {
  if (test_.kind != ReduceKind::kPreMulSum) return;
  for (size_t i = 0; i < seats_.size(); ++i)
    (void)ncclRedOpDestroy(places_[i].op,
                           seats_[i]->comm());  // the communicator frees it otherwise
}

std::byte* Bench::send_of(size_t seat, Placement placement) const {
  const size_t element = size_of(test_.type);
  const size_t shift = context_.options.unalign ? element : 0;
  if (placement == Placement::kOutOfPlace) return seats_[seat]->send() + shift;
  return seats_[seat]->recv() + shift + places_[seat].layout.send_offset * element;
}

std::byte* Bench::recv_of(size_t seat, Placement placement) const {
  const size_t element = size_of(test_.type);
  const size_t shift = context_.options.unalign ? element : 0;
  const size_t offset =
      placement == Placement::kInPlace ? places_[seat].layout.recv_offset * element : 0;
  return seats_[seat]->recv() + shift + offset;
}

Status Bench::fill(Placement placement) const {
  for (size_t i = 0; i < seats_.size(); ++i) {
    const uint64_t sent = places_[i].layout.send_count;
    const size_t received = received_bytes(i);
    RankDevice& device = seats_[i]->device();
    STRAIT_TRY(device.write(recv_of(i, placement), received,
                            [&](std::byte* memory) { std::memset(memory, kPoison, received); }));
    STRAIT_TRY(
        device.write(send_of(i, placement), sent * size_of(test_.type), [&](std::byte* memory) {
          context_.reference.source().fill(problem_, seats_[i]->rank(), 0, sent, memory);
        }));
  }
  return {};
}

Status Bench::launch_step(Placement placement, int step, int times) const {
  const bool grouped = seats_.size() > 1 || times > 1;
  if (grouped) STRAIT_TRY(told("ncclGroupStart", ncclGroupStart()));
  for (int again = 0; again < times; ++again)
    for (size_t i = 0; i < seats_.size(); ++i) {
      const Seat& seat = *seats_[i];
      STRAIT_TRY(seat.device().enter());  // whose default stream is meant
      const Call call{send_of(i, placement),
                      recv_of(i, placement),
                      places_[i].layout.count,
                      nccl_type(test_.type),
                      places_[i].op,
                      places_[i].shape,
                      step,
                      seat.comm(),
                      seat.device().stream()};
      STRAIT_TRY(told("the collective", context_.collective.run(call)));
    }
  return grouped ? told("ncclGroupEnd", ncclGroupEnd()) : Status();
}

Status Bench::launch(Placement placement, int aggregate) const {
  const Collective& collective = context_.collective;
  if (collective.steps == nullptr) return launch_step(placement, 0, aggregate);
  const int steps = collective.steps(context_.rank_count());
  for (int again = 0; again < aggregate; ++again)
    for (int step = 0; step < steps; ++step) STRAIT_TRY(launch_step(placement, step, 1));
  return {};
}

Status Bench::wait() const {
  for (Seat* seat : seats_)
    STRAIT_TRY(seat->synchronize().at(fmt::format("rank {}", seat->rank())));
  return {};
}

// As programs with a graph for each GPU: all are captured by one thread, side by side.
Status Bench::capture(Placement placement, int iterations, int aggregate) const {
  for (Seat* seat : seats_) STRAIT_TRY(seat->device().begin_capture());
  Status called;
  for (int i = 0; i < iterations && called.ok(); ++i) called = launch(placement, aggregate);
  for (Seat* seat : seats_)
    if (const Status ended = seat->device().end_capture(); called.ok()) called = ended;
  return called;
}

// Times are those of an iteration.
Result<Times> Bench::run_graph(Placement placement, const Repetitions& repetitions,
                               int aggregate) const {
  STRAIT_TRY(capture(placement, repetitions.iterations, aggregate));
  const auto launch_all = [&]() -> Status {
    for (Seat* seat : seats_) STRAIT_TRY(seat->device().launch_graph());
    return {};
  };
  STRAIT_ASSIGN(Times times, time_runs({launch_all, [&] { return wait(); }},
                                       {repetitions.graph_launches, false, false}));
  times.elapsed_us /= repetitions.iterations;
  times.enqueue_us /= repetitions.iterations;
  for (Seat* seat : seats_) STRAIT_TRY(seat->device().drop_graph());
  return times;
}

Result<Times> Bench::run(Placement placement, const Repetitions& repetitions, int aggregate) const {
  if (repetitions.graph_launches > 0) return run_graph(placement, repetitions, aggregate);
  const auto wait_as_asked = [&]() -> Status {
    STRAIT_TRY(wait());
    if (repetitions.wait_each && context_.options.blocking == 2) context_.team.local_barrier();
    if (repetitions.wait_each && context_.options.blocking == 3) context_.team.barrier(thread_);
    return {};
  };
  return time_runs({[&] { return launch(placement, aggregate); }, wait_as_asked}, repetitions);
}

void Bench::make_expected(std::vector<std::byte>* shared) {
  const size_t element = size_of(test_.type);
  if (!context_.collective.same_everywhere) {
    for (Place& place : places_) {
      place.expected.resize(place.layout.recv_count * element);
      fill_expected(context_.reference, problem_, place.result, 0, place.layout.recv_count,
                    place.expected.data());
    }
    return;
  }
  const uint64_t count = places_[0].layout.recv_count;
  const auto threads = static_cast<uint64_t>(context_.team.threads());
  if (thread_ == 0) shared->resize(count * element);
  context_.team.local_barrier();
  const uint64_t first = count * static_cast<uint64_t>(thread_) / threads;
  const uint64_t end = count * (static_cast<uint64_t>(thread_) + 1) / threads;
  fill_expected(context_.reference, problem_, places_[0].result, first, end - first,
                shared->data() + first * element);
  context_.team.local_barrier();
}

// Whether all was added in the order that ignores racks.
bool Bench::is_direct_sum(size_t seat, const std::byte* found) const {
  const Reference* direct = context_.direct_reference;
  if (!context_.collective.reduces || direct == nullptr) return false;
  const Place& place = places_[seat];
  const uint64_t count = place.layout.recv_count;
  std::vector<std::byte> expected(received_bytes(seat));
  fill_expected(*direct, problem_, place.result, 0, count, expected.data());
  return check_result(*direct, problem_, place.result.front().source_first, count, found,
                      expected.data())
             .wrong == 0;
}

uint64_t Bench::check_seat(size_t seat, Placement placement, const std::byte* found,
                           const std::byte* expected) const {
  const uint64_t count = places_[seat].layout.recv_count;
  // A sum comes in one piece.
  const uint64_t first = places_[seat].result.front().source_first;
  const Mismatch mismatch =
      context_.collective.reduces
          ? check_result(context_.reference, problem_, first, count, found, expected)
          : check_bytes(test_.type, count, found, expected);
  if (mismatch.wrong == 0 || is_direct_sum(seat, found)) return 0;
  std::fprintf(stderr, "# wrong: rank %d, %s %s, %s: %s (%llu wrong in all)\n",
               context_.world_rank[static_cast<size_t>(seats_[seat]->rank())],
               std::string(name_of(test_.type)).c_str(),
               context_.collective.reduces ? std::string(name_of(test_.kind)).c_str() : "none",
               placement == Placement::kInPlace ? "in place" : "out of place",
               mismatch.first.c_str(), static_cast<unsigned long long>(mismatch.wrong));
  return mismatch.wrong;
}

Result<uint64_t> Bench::check(Placement placement, const std::vector<std::byte>& shared) const {
  uint64_t wrong = 0;
  for (size_t i = 0; i < seats_.size(); ++i) {
    if (places_[i].layout.recv_count == 0) continue;
    const std::byte* expected =
        context_.collective.same_everywhere ? shared.data() : places_[i].expected.data();
    STRAIT_TRY(seats_[i]->device().read(
        recv_of(i, placement), received_bytes(i),
        [&](const std::byte* found) { wrong += check_seat(i, placement, found, expected); }));
  }
  return wrong;
}

Result<std::vector<uint64_t>> Bench::hashes(Placement placement) const {
  std::vector<uint64_t> hashes;
  for (size_t i = 0; i < seats_.size(); ++i)
    STRAIT_TRY(seats_[i]->device().read(
        recv_of(i, placement), received_bytes(i),
        [&](const std::byte* found) { hashes.push_back(XXH3_64bits(found, received_bytes(i))); }));
  return hashes;
}

Result<Traffic> Bench::traffic() const {
  Traffic traffic;
  for (const Seat* seat : seats_) {
    straitCommStats_t stats{};
    stats.size = sizeof(stats);
    STRAIT_TRY(told("straitCommGetStats", straitCommGetStats(seat->comm(), &stats)));
    traffic.value_bytes += stats.coded_value_bytes_sent;
    traffic.wire_bytes += stats.coded_wire_bytes_sent;
  }
  return traffic;
}

Result<std::vector<uint64_t>> Bench::traffic_by_peer() const {
  const size_t per_seat = 2 * static_cast<size_t>(context_.world_size);
  std::vector<uint64_t> all(per_seat * seats_.size());
  for (size_t i = 0; i < seats_.size(); ++i)
    for (int peer = 0; peer < context_.rank_count(); ++peer) {
      straitPeerStats_t stats{};
      stats.size = sizeof(stats);
      STRAIT_TRY(
          told("straitCommGetPeerStats", straitCommGetPeerStats(seats_[i]->comm(), peer, &stats)));
      uint64_t* pair = all.data() + i * per_seat + 2 * static_cast<size_t>(peer);
      pair[0] = stats.coded_value_bytes_sent;
      pair[1] = stats.coded_wire_bytes_sent;
    }
  return all;
}

}  // namespace strait::perf
