// What communicators cost: nothing that stays behind, little while they idle, and little time to
// make.

#include <dirent.h>
#include <malloc.h>

#include <cstdio>
#include <fstream>
#include <latch>

#include "base/clock.hpp"
#include "tests/api/processes.hpp"
#include "tests/api/world.hpp"

// There where the address sanitizer watches the library. It keeps freed memory for a while.
extern "C" __attribute__((weak)) void __asan_init();

namespace strait::test {
namespace {

int count_entries(const char* folder) {
  int count = 0;
  DIR* directory = opendir(folder);
  while (directory != nullptr && readdir(directory) != nullptr) ++count;
  if (directory != nullptr) closedir(directory);
  return count;
}

int64_t status_kilobytes(const char* key) {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word)
    if (word == key) {
      int64_t value = 0;
      status >> value;
      return value;
    }
  return -1;
}

// What this process holds.
struct Held {
  int fds = 0;
  int threads = 0;
  int mappings = 0;
  int64_t shared_kb = 0;
  int64_t resident_kb = 0;

  static Held now() {
    // Freed memory goes back, and what ends in the background has a moment for it.
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    malloc_trim(0);
    Held held;
    held.fds = count_entries("/proc/self/fd");
    held.threads = count_entries("/proc/self/task");
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) ++held.mappings;
    held.shared_kb = status_kilobytes("RssShmem:");
    held.resident_kb = status_kilobytes("VmRSS:");
    return held;
  }
};

void expect_flat(const Held& before, const Held& after) {
  EXPECT_LE(after.fds, before.fds);
  EXPECT_LE(after.threads, before.threads);
  EXPECT_LE(after.mappings, before.mappings + 16);  // the heap's own
  EXPECT_LE(after.shared_kb, before.shared_kb);
  if (__asan_init != nullptr) return;
  EXPECT_LE(after.resident_kb, before.resident_kb + 4'096);
}

void sum_up(ncclComm_t comm, int ranks) {
  int value = 1;
  ASSERT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, nullptr), ncclSuccess)
      << ncclGetLastError(comm);
  ASSERT_EQ(value, ranks);
}

TEST(Lifecycle, AThousandCommunicatorsLeaveNothing) {
  const auto cycle = [](int i) {
    // A small slot, so that the time goes into making and not into zeroing memory.
    const char* transports[] = {"inproc", "shm", "tcp", "inproc,shm,tcp"};
    run_world(2, {{"STRAIT_TRANSPORTS", transports[i % 4]}, {"STRAIT_SLOT_BYTES", "4K"}},
              [](int rank, ncclComm_t comm) {
                sum_up(comm, 2);
                ncclComm_t child = nullptr;
                ASSERT_EQ(ncclCommSplit(comm, 0, -rank, &child, nullptr), ncclSuccess)
                    << ncclGetLastError(comm);
                ASSERT_EQ(ncclCommDestroy(child), ncclSuccess);
              });
  };
  for (int i = 0; i < 100; ++i) cycle(i);
  const Held before = Held::now();
  for (int i = 0; i < 1'000; ++i) cycle(i);
  expect_flat(before, Held::now());
}

TEST(Lifecycle, AbortedAndFailedOnesLeaveNothing) {
  const auto cycle = [] {
    ncclUniqueId id;
    ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
    on_threads(3, [&](int rank) {
      ncclComm_t comm = nullptr;
      // Rank 2 comes with another setting: the making fails on all.
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      config.minCTAs = rank == 2 ? 2 : 1;
      EXPECT_EQ(ncclCommInitRankConfig(&comm, 3, id, rank, &config), ncclInvalidUsage);
      EXPECT_EQ(comm, nullptr);
    });
    ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
    on_threads(3, [&](int rank) {
      ncclComm_t comm = nullptr;
      ASSERT_EQ(ncclCommInitRank(&comm, 3, id, rank), ncclSuccess) << ncclGetLastError(nullptr);
      ASSERT_EQ(ncclCommAbort(comm), ncclSuccess);
    });
  };
  for (int i = 0; i < 10; ++i) cycle();
  const Held before = Held::now();
  for (int i = 0; i < 50; ++i) cycle();
  expect_flat(before, Held::now());
}

TEST(Lifecycle, SixtyFourCommunicatorsAtOnce) {
  constexpr int kComms = 64;
  std::vector<ncclUniqueId> ids(kComms);
  for (ncclUniqueId& id : ids) ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  on_threads(2, [&](int rank) {
    std::vector<ncclComm_t> comms(kComms);
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    for (int i = 0; i < kComms; ++i)
      ASSERT_EQ(ncclCommInitRank(&comms[i], 2, ids[i], rank), ncclSuccess);
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
    std::vector<int> values(kComms, rank + 1);
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    for (int i = 0; i < kComms; ++i)
      ASSERT_EQ(ncclAllReduce(&values[i], &values[i], 1, ncclInt, ncclSum, comms[i], nullptr),
                ncclSuccess);
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
    EXPECT_EQ(values, std::vector<int>(kComms, 3));
    for (ncclComm_t comm : comms) EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  });
}

// On two idle cores it takes a fifth of this; the bound leaves room for a machine that has other
// work too. The address sanitizer makes processes slow to start and to meet.
int64_t start_limit_ms() {
  return __asan_init != nullptr ? 10'000 : 1'000;
}

TEST(Lifecycle, SixtyFourThreadsStartAndSplitWithinASecond) {
  constexpr int kRanks = 64;
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  std::latch made(kRanks);
  std::latch used(kRanks);
  const int64_t begin_ns = now_ns();
  std::atomic<int64_t> made_ns{0};   // partner: this test, after all threads ended
  std::atomic<int64_t> split_ns{0};  // partner: this test, after all threads ended
  on_threads(kRanks, [&](int rank) {
    ncclComm_t comm = nullptr;
    ASSERT_EQ(ncclCommInitRank(&comm, kRanks, id, rank), ncclSuccess) << ncclGetLastError(nullptr);
    made.arrive_and_wait();
    if (rank == 0) made_ns = now_ns() - begin_ns;
    const int64_t split_begin_ns = now_ns();
    ncclComm_t child = nullptr;
    ASSERT_EQ(ncclCommSplit(comm, rank / 8, rank, &child, nullptr), ncclSuccess)
        << ncclGetLastError(comm);
    used.arrive_and_wait();
    if (rank == 0) split_ns = now_ns() - split_begin_ns;
    EXPECT_EQ(ncclCommDestroy(child), ncclSuccess);
    EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  });
  std::printf("64 threads: made in %ld ms, split in %ld ms\n", long{made_ns / 1'000'000},
              long{split_ns / 1'000'000});
  EXPECT_LT(made_ns, start_limit_ms() * 1'000'000);
  EXPECT_LT(split_ns, start_limit_ms() * 1'000'000);
}

TEST(Lifecycle, SixtyFourProcessesStartAndSplitWithinASecond) {
  constexpr int kRanks = 64;
  Processes processes(kRanks, [&](int rank, SharedPage& page) {
    page.meet(kRanks);
    const int64_t begin_ns = now_ns();
    ncclComm_t comm = nullptr;
    need(ncclCommInitRank(&comm, kRanks, page.id, rank), "ncclCommInitRank");
    page.meet(2 * kRanks);
    page.numbers[rank] = (now_ns() - begin_ns) / 1'000'000;
    const int64_t split_begin_ns = now_ns();
    ncclComm_t child = nullptr;
    need(ncclCommSplit(comm, rank / 8, rank, &child, nullptr), "ncclCommSplit");
    page.meet(3 * kRanks);
    if (rank == 1) page.numbers[1] = (now_ns() - split_begin_ns) / 1'000'000;
    need(ncclCommDestroy(child), "ncclCommDestroy");
    need(ncclCommDestroy(comm), "ncclCommDestroy");
    page.meet(4 * kRanks);
  });
  processes.expect_fine();
  const int64_t made_ms = processes.page().numbers[0];
  const int64_t split_ms = processes.page().numbers[1];
  std::printf("64 processes: made in %ld ms, split in %ld ms\n", long{made_ms}, long{split_ms});
  EXPECT_LT(made_ms, start_limit_ms());
  EXPECT_LT(split_ms, start_limit_ms());
}

TEST(Lifecycle, AnIdleCommunicatorOfEightRanksHoldsLessThanAMegabyte) {
  // Eight processes: what one of them holds more for ten communicators.
  constexpr int kRanks = 8;
  constexpr int kComms = 10;
  Processes processes(kRanks, [&](int rank, SharedPage& page) {
    ncclComm_t comm = nullptr;
    need(ncclCommInitRank(&comm, kRanks, page.id, rank), "ncclCommInitRank");
    const Held before = Held::now();
    page.meet(kRanks);
    std::vector<ncclComm_t> comms(kComms);
    for (ncclComm_t& child : comms)
      need(ncclCommSplit(comm, 0, rank, &child, nullptr), "ncclCommSplit");
    const Held after = Held::now();
    page.numbers[rank] = (after.resident_kb - before.resident_kb) / kComms;
    page.meet(2 * kRanks);
    for (ncclComm_t child : comms) need(ncclCommDestroy(child), "ncclCommDestroy");
    need(ncclCommDestroy(comm), "ncclCommDestroy");
    page.meet(3 * kRanks);
  });
  processes.expect_fine();
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_LT(processes.page().numbers[rank], 1'024) << "rank " << rank;
    if (rank == 0)
      std::printf("an idle communicator of 8 ranks: %ld KiB\n",
                  long{processes.page().numbers[rank]});
  }
}

}  // namespace
}  // namespace strait::test
