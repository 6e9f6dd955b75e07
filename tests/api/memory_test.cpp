// Shareable memory, registered buffers, and what a communicator holds and gives back.

#include <gmock/gmock.h>

#include <cstring>

#include "tests/api/world.hpp"

namespace strait::test {
namespace {

using testing::HasSubstr;

uint64_t stat_of(ncclComm_t comm, ncclCommMemStat_t stat) {
  uint64_t value = 0;
  EXPECT_EQ(ncclCommMemStats(comm, stat, &value), ncclSuccess);
  return value;
}

void sum(int rank_count, ncclComm_t comm) {
  std::vector<int> values(100'000, 1);
  ASSERT_EQ(
      ncclAllReduce(values.data(), values.data(), values.size(), ncclInt, ncclSum, comm, nullptr),
      ncclSuccess)
      << ncclGetLastError(comm);
  EXPECT_EQ(values, std::vector<int>(100'000, rank_count));
}

TEST(Memory, AllocatedMemoryIsZeroAndPageAligned) {
  void* memory = nullptr;
  ASSERT_EQ(ncclMemAlloc(&memory, 10'000), ncclSuccess);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % NCCL_WIN_REQUIRED_ALIGNMENT, 0U);
  EXPECT_EQ(static_cast<char*>(memory)[9'999], 0);
  EXPECT_EQ(ncclMemFree(static_cast<char*>(memory) + 1), ncclInvalidArgument);
  EXPECT_EQ(ncclMemFree(memory), ncclSuccess);
  EXPECT_EQ(ncclMemFree(memory), ncclInvalidArgument);
  EXPECT_EQ(ncclMemFree(nullptr), ncclSuccess);
  EXPECT_EQ(ncclMemAlloc(nullptr, 1), ncclInvalidArgument);
  EXPECT_EQ(ncclMemAlloc(&memory, 0), ncclInvalidArgument);
  EXPECT_EQ(memory, nullptr);
}

TEST(Memory, BuffersAreRegisteredByHandles) {
  run_world(1, {}, [](int, ncclComm_t comm) {
    std::vector<float> buffer(64);
    void* first = nullptr;
    void* second = nullptr;
    ASSERT_EQ(ncclCommRegister(comm, buffer.data(), 256, &first), ncclSuccess);
    ASSERT_EQ(ncclCommRegister(comm, buffer.data(), 256, &second), ncclSuccess);
    EXPECT_NE(first, second);
    EXPECT_EQ(ncclCommDeregister(comm, first), ncclSuccess);
    EXPECT_EQ(ncclCommDeregister(comm, first), ncclInvalidArgument);
    EXPECT_EQ(ncclCommDeregister(comm, second), ncclSuccess);
    EXPECT_EQ(ncclCommDeregister(comm, nullptr), ncclSuccess);
    EXPECT_EQ(ncclCommDeregister(comm, buffer.data()), ncclInvalidArgument);
    EXPECT_EQ(ncclCommRegister(comm, nullptr, 256, &first), ncclInvalidArgument);
    EXPECT_EQ(first, nullptr);
    EXPECT_EQ(ncclCommRegister(comm, buffer.data(), 0, &first), ncclInvalidArgument);
    EXPECT_EQ(ncclCommRegister(comm, buffer.data(), 256, nullptr), ncclInvalidArgument);
    EXPECT_EQ(ncclCommRegister(nullptr, buffer.data(), 256, &first), ncclInvalidArgument);
  });
}

TEST(Memory, ASuspendedCommunicatorGivesItsLinksBack) {
  for (const Settings& settings : {Settings{}, Settings{{"STRAIT_TRANSPORTS", "shm,tcp"}},
                                   Settings{{"STRAIT_EMULATE_DOMAINS", "1"}}}) {
    run_world(3, settings, [](int, ncclComm_t comm) {
      for (int round = 0; round < 5; ++round) {
        sum(3, comm);
        const uint64_t held = stat_of(comm, ncclStatGpuMemSuspend);
        // Two links with each peer at least, each of four slots.
        EXPECT_GE(held, 2U * 2 * 4 * (128 << 10));
        EXPECT_EQ(stat_of(comm, ncclStatGpuMemTotal), held + stat_of(comm, ncclStatGpuMemPersist));
        EXPECT_EQ(stat_of(comm, ncclStatGpuMemSuspended), 0U);
        ASSERT_EQ(ncclCommSuspend(comm, NCCL_SUSPEND_MEM), ncclSuccess) << ncclGetLastError(comm);
        EXPECT_EQ(stat_of(comm, ncclStatGpuMemSuspended), 1U);
        EXPECT_EQ(stat_of(comm, ncclStatGpuMemSuspend), 0U);
        ASSERT_EQ(ncclCommResume(comm), ncclSuccess);
      }
      sum(3, comm);
    });
  }
}

TEST(Memory, ASuspendedCommunicatorRefusesCalls) {
  run_world(2, {}, [](int rank, ncclComm_t comm) {
    EXPECT_EQ(ncclCommResume(comm), ncclInvalidUsage);
    EXPECT_EQ(ncclCommSuspend(comm, 2), ncclInvalidArgument);
    EXPECT_EQ(ncclCommSuspend(comm, 0), ncclSuccess);
    EXPECT_EQ(stat_of(comm, ncclStatGpuMemSuspended), 0U);
    ASSERT_EQ(ncclCommSuspend(comm, NCCL_SUSPEND_MEM), ncclSuccess);
    int value = 1;
    EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, nullptr), ncclInvalidUsage);
    if (rank == 0) {
      EXPECT_THAT(ncclGetLastError(comm), HasSubstr("suspended"));
    }
    EXPECT_EQ(ncclCommSuspend(comm, NCCL_SUSPEND_MEM), ncclInvalidUsage);
    uint64_t bytes = 5;
    EXPECT_EQ(ncclCommMemStats(comm, static_cast<ncclCommMemStat_t>(4), &bytes),
              ncclInvalidArgument);
    EXPECT_EQ(ncclCommMemStats(comm, ncclStatGpuMemTotal, nullptr), ncclInvalidArgument);
    EXPECT_EQ(bytes, 5U);
    EXPECT_EQ(ncclCommResume(comm), ncclSuccess);
    EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, nullptr), ncclSuccess);
  });
}

}  // namespace
}  // namespace strait::test
