#include "perf/comm_ops/life.hpp"

#include <algorithm>

namespace strait::perf {
namespace {

constexpr size_t kWorkElements = 1024;
constexpr size_t kWorkBytes = kWorkElements * sizeof(int);

}  // namespace

Life::Life(const CommOptions& options, Team& team, RankDevice& device, int thread, int rank,
           int size)
    : options_(options),
      team_(team),
      device_(device),
      thread_(thread),
      rank_(rank),
      size_(size),
      timings_(options, team, thread, size) {}

Life::~Life() {
  // The measurement is over: a failure to free changes nothing.
  if (input_ != nullptr) (void)ncclMemFree(input_);
  if (output_ != nullptr) (void)ncclMemFree(output_);
}

Status Life::prepare() {
  return timings_.time(Event::kPrepare, true, [&]() -> Status {
    STRAIT_TRY(told("ncclMemAlloc", ncclMemAlloc(&input_, kWorkBytes)));
    return told("ncclMemAlloc", ncclMemAlloc(&output_, kWorkBytes));
  });
}

Status Life::run() {
  STRAIT_TRY(prepare());
  switch (options_.test) {
    case CommTest::kInit:
      STRAIT_TRY(init_test());
      break;
    case CommTest::kSplit:
    case CommTest::kShrink:
      if (size_ > 1) STRAIT_TRY(resize_test());
      break;
    case CommTest::kGrow:
      if (color(0) == 0 && color(size_ - 1) == 1) STRAIT_TRY(grow_test());
      break;
  }
  timings_.flush();
  return {};
}

Status Life::init_test() {
  for (int round = 0; round < options_.warmup + options_.iterations; ++round) {
    timings_.record(round >= options_.warmup);
    STRAIT_ASSIGN(const ncclComm_t comm, make(size_));
    STRAIT_TRY(work(comm));
    STRAIT_TRY(end(comm));
  }
  return {};
}

// Each round makes a child of the same parent.
Status Life::resize_test() {
  timings_.record(options_.warmup == 0);
  STRAIT_ASSIGN(const ncclComm_t parent, make(size_));
  for (int round = 0; round < options_.warmup + options_.iterations; ++round) {
    timings_.record(round >= options_.warmup);
    STRAIT_TRY(barrier());
    STRAIT_ASSIGN(const ncclComm_t child,
                  options_.test == CommTest::kSplit ? split(parent) : shrink(parent));
    STRAIT_TRY(work(child));
    STRAIT_TRY(end(child));
  }
  return end(parent);
}

// Each round grows the same smaller communicator to the whole size.
Status Life::grow_test() {
  int first_part = 0;
  while (color(first_part) == 0) ++first_part;
  timings_.record(options_.warmup == 0);
  STRAIT_ASSIGN(const ncclComm_t smaller, make(first_part));
  STRAIT_TRY(work(smaller));
  for (int round = 0; round < options_.warmup + options_.iterations; ++round) {
    timings_.record(round >= options_.warmup);
    STRAIT_TRY(barrier());
    STRAIT_ASSIGN(const ncclComm_t bigger, grow(smaller));
    STRAIT_TRY(work(bigger));
    STRAIT_TRY(end(bigger));
  }
  return end(smaller);
}

bool Life::is_root(int rank) const {
  return options_.root_every > 0 ? rank % options_.root_every == 0 : rank == 0;
}

ncclConfig_t Life::config() const {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.splitShare = options_.share ? 1 : 0;
  config.shrinkShare = options_.share ? 1 : 0;
  return config;
}

Result<ncclComm_t> Life::make(int count) {
  const bool takes_part = rank_ < count;
  ncclUniqueId own{};
  if (takes_part && is_root(rank_)) STRAIT_TRY(told("ncclGetUniqueId", ncclGetUniqueId(&own)));
  std::vector<ncclUniqueId> ids;
  STRAIT_TRY(timings_.time(Event::kIds, true, [&]() -> Status {
    const auto all = team_.exchange<ncclUniqueId>(thread_, std::span(&own, 1));
    for (int rank = 0; rank < count; ++rank)
      if (is_root(rank)) ids.push_back(all[static_cast<size_t>(rank)]);
    return {};
  }));
  STRAIT_TRY(barrier());
  ncclComm_t comm = nullptr;
  STRAIT_TRY(timings_.time(Event::kInit, takes_part, [&] {
    ncclConfig_t own_config = config();
    return told("ncclCommInitRankScalable",
                ncclCommInitRankScalable(&comm, count, rank_, static_cast<int>(ids.size()),
                                         ids.data(), &own_config));
  }));
  return comm;
}

Result<ncclComm_t> Life::split(ncclComm_t parent) {
  ncclComm_t child = nullptr;
  STRAIT_TRY(timings_.time(Event::kSplit, parent != nullptr, [&] {
    return told("ncclCommSplit", ncclCommSplit(parent, color(rank_), 0, &child, nullptr));
  }));
  return child;
}

Result<ncclComm_t> Life::shrink(ncclComm_t parent) {
  std::vector<int> excluded;
  for (int rank = 0; rank < size_; ++rank)
    if (color(rank) != 0) excluded.push_back(rank);
  ncclComm_t child = nullptr;
  const bool stays = parent != nullptr && color(rank_) == 0;
  STRAIT_TRY(timings_.time(Event::kShrink, stays, [&] {
    return told("ncclCommShrink",
                ncclCommShrink(parent, excluded.data(), static_cast<int>(excluded.size()), &child,
                               nullptr, options_.aborts ? NCCL_SHRINK_ABORT : NCCL_SHRINK_DEFAULT));
  }));
  return child;
}

Result<ncclComm_t> Life::grow(ncclComm_t smaller) {
  ncclUniqueId own{};
  if (rank_ == 0) STRAIT_TRY(told("ncclCommGetUniqueId", ncclCommGetUniqueId(smaller, &own)));
  const ncclUniqueId id = team_.exchange<ncclUniqueId>(thread_, std::span(&own, 1)).front();
  const bool is_new = smaller == nullptr;
  ncclComm_t bigger = nullptr;
  STRAIT_TRY(timings_.time(Event::kGrow, rank_ < size_, [&] {
    ncclConfig_t own_config = config();
    const bool needs_id = is_new || rank_ == 0;
    return told("ncclCommGrow", ncclCommGrow(smaller, size_, needs_id ? &id : nullptr,
                                             is_new ? rank_ : -1, &bigger, &own_config));
  }));
  return bigger;
}

Status Life::work(ncclComm_t comm) {
  for (int again = 0; again < options_.work_iterations; ++again) {
    int rank = 0;
    if (comm != nullptr) STRAIT_TRY(told("ncclCommUserRank", ncclCommUserRank(comm, &rank)));
    STRAIT_TRY(
        device_.write(static_cast<std::byte*>(input_), kWorkBytes, [rank](std::byte* memory) {
          std::fill_n(reinterpret_cast<int*>(memory), kWorkElements, rank + 1);
        }));
    STRAIT_TRY(timings_.time(Event::kAllReduce, comm != nullptr, [&] {
      return told("ncclAllReduce", ncclAllReduce(input_, output_, kWorkElements, ncclInt, ncclSum,
                                                 comm, device_.stream()));
    }));
    STRAIT_TRY(timings_.time(Event::kSynchronize, comm != nullptr,
                             [&] { return device_.synchronize(comm); }));
    if (comm != nullptr) STRAIT_TRY(check(comm));
  }
  return {};
}

Status Life::check(ncclComm_t comm) {
  int count = 0;
  STRAIT_TRY(told("ncclCommCount", ncclCommCount(comm, &count)));
  const int sum = count * (count + 1) / 2;
  return device_.read(
      static_cast<std::byte*>(output_), kWorkBytes, [this, sum](const std::byte* memory) {
        const auto* first = reinterpret_cast<const int*>(memory);
        wrong_ += static_cast<uint64_t>(std::count_if(
            first, first + kWorkElements, [sum](int element) { return element != sum; }));
      });
}

Status Life::end(ncclComm_t comm) {
  const bool is_there = comm != nullptr;
  if (options_.aborts) {
    STRAIT_TRY(barrier());  // an abort ends what peers still do
    return timings_.time(Event::kAbort, is_there,
                         [&] { return told("ncclCommAbort", ncclCommAbort(comm)); });
  }
  STRAIT_TRY(timings_.time(Event::kFinalize, is_there,
                           [&] { return told("ncclCommFinalize", ncclCommFinalize(comm)); }));
  return timings_.time(Event::kDestroy, is_there,
                       [&] { return told("ncclCommDestroy", ncclCommDestroy(comm)); });
}

Status Life::barrier() {
  return timings_.time(Event::kBarrier, true, [&]() -> Status {
    team_.barrier(thread_);
    return {};
  });
}

}  // namespace strait::perf
