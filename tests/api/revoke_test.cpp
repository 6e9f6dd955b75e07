// Revoking, finalizing, destroying: what a communicator still does afterwards.

#include <gmock/gmock.h>

#include <latch>

#include "base/clock.hpp"
#include "strait.h"
#include "tests/api/world.hpp"

namespace strait::test {
namespace {

using testing::HasSubstr;

ncclResult_t state_of(ncclComm_t comm) {
  ncclResult_t state = ncclSuccess;
  EXPECT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
  return state;
}

TEST(Revoke, EndsWhatRunsAndLeavesSplitAndShrink) {
  std::latch revoked(3);
  run_world(3, {}, [&](int rank, ncclComm_t comm) {
    cudaStream_t stream = nullptr;
    ASSERT_EQ(straitStreamCreate(&stream), ncclSuccess);
    int value = rank;
    if (rank != 1) {  // which never comes: the others would wait
      ASSERT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, stream), ncclSuccess);
    }
    const Deadline bound = Deadline::after_ms(5'000);
    ASSERT_EQ(ncclCommRevoke(comm, NCCL_REVOKE_DEFAULT), ncclSuccess);
    EXPECT_EQ(state_of(comm), ncclSuccess);
    ASSERT_EQ(straitStreamDestroy(stream), ncclSuccess);
    EXPECT_FALSE(bound.passed());
    EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, nullptr), ncclInvalidUsage);
    EXPECT_EQ(ncclCommFinalize(comm), ncclInvalidUsage);
    revoked.arrive_and_wait();
    EXPECT_THAT(ncclGetLastError(comm), HasSubstr("revoked"));
    ncclComm_t child = nullptr;
    ASSERT_EQ(ncclCommSplit(comm, 0, rank, &child, nullptr), ncclSuccess) << ncclGetLastError(comm);
    value = rank;
    EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, child, nullptr), ncclSuccess)
        << ncclGetLastError(comm);
    EXPECT_EQ(value, 3);
    EXPECT_EQ(ncclCommDestroy(child), ncclSuccess);
    if (rank == 2) return;
    int excluded[] = {2};
    ASSERT_EQ(ncclCommShrink(comm, excluded, 1, &child, nullptr, NCCL_SHRINK_DEFAULT), ncclSuccess);
    EXPECT_EQ(ncclCommDestroy(child), ncclSuccess);
  });
}

TEST(Revoke, DoesNotShareWithWhatComesAfter) {
  const Environment environment(Settings{{"NCCL_COMM_SPLIT_SHARE_RESOURCES", "1"}});
  run_world(2, {}, [](int rank, ncclComm_t comm) {
    ASSERT_EQ(ncclCommRevoke(comm, NCCL_REVOKE_DEFAULT), ncclSuccess);
    ncclComm_t child = nullptr;
    ASSERT_EQ(ncclCommSplit(comm, 0, rank, &child, nullptr), ncclSuccess) << ncclGetLastError(comm);
    int value = 1;
    EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, child, nullptr), ncclSuccess);
    EXPECT_EQ(value, 2);
    EXPECT_EQ(ncclCommDestroy(child), ncclSuccess);
  });
}

TEST(Revoke, BadArgumentsAreRefused) {
  run_world(1, {}, [](int, ncclComm_t comm) {
    EXPECT_EQ(ncclCommRevoke(comm, 1), ncclInvalidArgument);
    EXPECT_EQ(ncclCommRevoke(nullptr, 0), ncclInvalidArgument);
    ASSERT_EQ(ncclCommFinalize(comm), ncclSuccess);
    EXPECT_EQ(ncclCommRevoke(comm, 0), ncclInvalidUsage);
  });
}

TEST(Finalize, CompletesWhatStreamsHold) {
  run_world(2, {}, [](int rank, ncclComm_t comm) {
    cudaStream_t stream = nullptr;
    ASSERT_EQ(straitStreamCreate(&stream), ncclSuccess);
    std::vector<int> values(200'000, rank);
    for (int i = 0; i < 4; ++i)
      ASSERT_EQ(ncclAllReduce(values.data(), values.data(), values.size(), ncclInt, ncclMax, comm,
                              stream),
                ncclSuccess);
    ASSERT_EQ(ncclCommFinalize(comm), ncclSuccess);
    EXPECT_EQ(state_of(comm), ncclSuccess);
    EXPECT_EQ(values, std::vector<int>(200'000, 1));
    EXPECT_EQ(straitStreamDestroy(stream), ncclSuccess);
  });
}

TEST(Destroy, NullIsFineAndTwiceIsNot) {
  EXPECT_EQ(ncclCommDestroy(nullptr), ncclSuccess);
  EXPECT_EQ(ncclCommAbort(nullptr), ncclSuccess);
  ncclComm_t comm = nullptr;
  ASSERT_EQ(ncclCommInitAll(&comm, 1, nullptr), ncclSuccess);
  ASSERT_EQ(ncclCommDestroy(comm), ncclSuccess);
  // Also when a new one has been made since: numbers are not given twice.
  ncclComm_t next = nullptr;
  ASSERT_EQ(ncclCommInitAll(&next, 1, nullptr), ncclSuccess);
  EXPECT_NE(next, comm);
  EXPECT_EQ(ncclCommDestroy(comm), ncclInvalidArgument);
  EXPECT_EQ(ncclCommFinalize(comm), ncclInvalidArgument);
  EXPECT_EQ(ncclCommAbort(comm), ncclInvalidArgument);
  EXPECT_EQ(ncclCommDestroy(next), ncclSuccess);
}

}  // namespace
}  // namespace strait::test
