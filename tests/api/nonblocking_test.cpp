// Communicators with blocking = 0: calls return while their work goes on, ncclCommGetAsyncError
// tells when it is done.

#include <gmock/gmock.h>

#include <latch>

#include "base/clock.hpp"
#include "strait.h"
#include "tests/api/world.hpp"

namespace strait::test {
namespace {

using testing::HasSubstr;

ncclConfig_t nonblocking() {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  return config;
}

// Asks until the communicator is no longer in progress.
ncclResult_t settle(ncclComm_t comm, int64_t limit_ms = 20'000) {
  const Deadline deadline = Deadline::after_ms(limit_ms);
  ncclResult_t state = ncclInProgress;
  while (state == ncclInProgress && !deadline.passed()) {
    EXPECT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess) << ncclGetLastError(comm);
    std::this_thread::yield();
  }
  return state;
}

// The result of a call whose work may go on.
ncclResult_t finish(ncclResult_t result, ncclComm_t comm) {
  return result == ncclInProgress ? settle(comm) : result;
}

// A world of communicators that are made in the background.
void run_nonblocking(int rank_count, const std::function<void(int, ncclComm_t)>& body) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  on_threads(rank_count, [&](int rank) {
    ncclConfig_t config = nonblocking();
    ncclComm_t comm = nullptr;
    ASSERT_EQ(ncclCommInitRankConfig(&comm, rank_count, id, rank, &config), ncclInProgress);
    ASSERT_NE(comm, nullptr);
    ASSERT_EQ(settle(comm), ncclSuccess) << ncclGetLastError(comm);
    body(rank, comm);
    EXPECT_EQ(finish(ncclCommFinalize(comm), comm), ncclSuccess);
    EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  });
}

TEST(Nonblocking, InitGivesTheCommunicatorAtOnce) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclConfig_t config = nonblocking();
  ncclComm_t first = nullptr;
  ASSERT_EQ(ncclCommInitRankConfig(&first, 2, id, 0, &config), ncclInProgress);
  ASSERT_NE(first, nullptr);
  // Its peer has not come, so it is not ready for anything.
  ncclResult_t state = ncclSuccess;
  ASSERT_EQ(ncclCommGetAsyncError(first, &state), ncclSuccess);
  EXPECT_EQ(state, ncclInProgress);
  int value = 1;
  EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, first, nullptr),
            ncclInvalidArgument);
  EXPECT_THAT(ncclGetLastError(first),
              HasSubstr("Attempt to use communicator before the previous operation returned "
                        "ncclSuccess"));
  EXPECT_EQ(ncclCommCount(first, &value), ncclInvalidArgument);
  EXPECT_EQ(ncclCommDestroy(first), ncclInvalidArgument);
  ncclComm_t second = nullptr;
  ASSERT_EQ(ncclCommInitRankConfig(&second, 2, id, 1, &config), ncclInProgress);
  EXPECT_EQ(settle(first), ncclSuccess);
  EXPECT_EQ(settle(second), ncclSuccess);
  EXPECT_EQ(ncclCommCount(first, &value), ncclSuccess);
  EXPECT_EQ(value, 2);
  EXPECT_EQ(ncclCommDestroy(first), ncclSuccess);
  EXPECT_EQ(ncclCommDestroy(second), ncclSuccess);
}

TEST(Nonblocking, OneThreadMakesAllRanksWithoutAGroup) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclConfig_t config = nonblocking();
  std::vector<ncclComm_t> comms(5);
  for (int rank = 0; rank < 5; ++rank)
    ASSERT_EQ(ncclCommInitRankConfig(&comms[rank], 5, id, rank, &config), ncclInProgress);
  for (ncclComm_t comm : comms) ASSERT_EQ(settle(comm), ncclSuccess) << ncclGetLastError(comm);
  std::vector<int> values = {0, 1, 2, 3, 4};
  for (int rank = 0; rank < 5; ++rank)
    ASSERT_EQ(
        ncclAllReduce(&values[rank], &values[rank], 1, ncclInt, ncclSum, comms[rank], nullptr),
        ncclInProgress);
  for (ncclComm_t comm : comms) EXPECT_EQ(settle(comm), ncclSuccess);
  EXPECT_EQ(values, std::vector<int>(5, 10));
  for (ncclComm_t comm : comms) EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

TEST(Nonblocking, AnInitThatFailsSaysSoWhenAsked) {
  const Environment environment(Settings{{"STRAIT_INIT_TIMEOUT_MS", "300"}});
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclConfig_t config = nonblocking();
  ncclComm_t comm = nullptr;
  ASSERT_EQ(ncclCommInitRankConfig(&comm, 2, id, 0, &config), ncclInProgress);
  EXPECT_EQ(settle(comm), ncclTimeout);
  EXPECT_THAT(ncclGetLastError(comm), HasSubstr("rank 1 of 2 did not arrive"));
  int value = 1;
  EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, nullptr), ncclTimeout);
  EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
}

TEST(Nonblocking, AbortEndsAnInitAndTellsThePeers) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  const Deadline bound = Deadline::after_ms(3'000);
  ncclConfig_t config = nonblocking();
  ncclComm_t comms[2] = {};
  ASSERT_EQ(ncclCommInitRankConfig(&comms[0], 3, id, 0, &config), ncclInProgress);
  ASSERT_EQ(ncclCommInitRankConfig(&comms[1], 3, id, 1, &config), ncclInProgress);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(ncclCommAbort(comms[0]), ncclSuccess);
  EXPECT_NE(settle(comms[1]), ncclSuccess);
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("aborted"));
  EXPECT_EQ(ncclCommAbort(comms[1]), ncclSuccess);
  EXPECT_FALSE(bound.passed());
}

TEST(Nonblocking, CallsWithoutAStreamGoOnInTheBackground) {
  run_nonblocking(3, [](int rank, ncclComm_t comm) {
    std::vector<int> values(100'000, rank);
    const ncclResult_t result =
        ncclAllReduce(values.data(), values.data(), values.size(), ncclInt, ncclSum, comm, nullptr);
    EXPECT_EQ(result, ncclInProgress);
    EXPECT_EQ(finish(result, comm), ncclSuccess);
    EXPECT_EQ(values, std::vector<int>(100'000, 3));
  });
}

TEST(Nonblocking, AGroupGoesOnInTheBackgroundAsAWhole) {
  run_nonblocking(2, [](int rank, ncclComm_t comm) {
    int sent = rank;
    int got = -1;
    int sum = 1;
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    EXPECT_EQ(ncclSend(&sent, 1, ncclInt, 1 - rank, comm, nullptr), ncclSuccess);
    EXPECT_EQ(ncclRecv(&got, 1, ncclInt, 1 - rank, comm, nullptr), ncclSuccess);
    EXPECT_EQ(ncclAllReduce(&sum, &sum, 1, ncclInt, ncclSum, comm, nullptr), ncclSuccess);
    EXPECT_EQ(ncclGroupEnd(), ncclInProgress);
    EXPECT_EQ(settle(comm), ncclSuccess);
    EXPECT_EQ(got, 1 - rank);
    EXPECT_EQ(sum, 2);
  });
}

TEST(Nonblocking, CallsOnAStreamAreEnqueuedAtOnce) {
  run_nonblocking(2, [](int rank, ncclComm_t comm) {
    cudaStream_t stream = nullptr;
    ASSERT_EQ(straitStreamCreate(&stream), ncclSuccess);
    int value = rank;
    for (int i = 0; i < 5; ++i)
      ASSERT_EQ(finish(ncclAllReduce(&value, &value, 1, ncclInt, ncclMax, comm, stream), comm),
                ncclSuccess);
    EXPECT_EQ(straitStreamSynchronize(stream), ncclSuccess);
    EXPECT_EQ(value, 1);
    EXPECT_EQ(straitStreamDestroy(stream), ncclSuccess);
  });
}

TEST(Nonblocking, SplitGivesTheChildWhenItIsThere) {
  run_nonblocking(4, [](int rank, ncclComm_t comm) {
    ncclComm_t child = nullptr;
    ASSERT_EQ(ncclCommSplit(comm, rank % 2, rank, &child, nullptr), ncclInProgress);
    ASSERT_EQ(settle(comm), ncclSuccess) << ncclGetLastError(comm);
    ASSERT_NE(child, nullptr);
    int value = rank;
    // Without a config the child inherits: it is non-blocking too.
    ASSERT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, child, nullptr), ncclInProgress);
    EXPECT_EQ(settle(child), ncclSuccess);
    EXPECT_EQ(value, rank % 2 * 2 + 2);
    EXPECT_EQ(ncclCommDestroy(child), ncclSuccess);
  });
}

TEST(Nonblocking, AConfigThatDoesNotSayInheritsOnlyThat) {
  run_nonblocking(2, [](int rank, ncclComm_t comm) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclComm_t child = nullptr;
    ASSERT_EQ(finish(ncclCommSplit(comm, 0, rank, &child, &config), comm), ncclSuccess);
    int value = rank;
    EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, child, nullptr), ncclInProgress);
    EXPECT_EQ(settle(child), ncclSuccess);
    EXPECT_EQ(ncclCommDestroy(child), ncclSuccess);
    config.blocking = 1;
    ASSERT_EQ(finish(ncclCommSplit(comm, 0, rank, &child, &config), comm), ncclSuccess);
    EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, child, nullptr), ncclSuccess);
    EXPECT_EQ(ncclCommDestroy(child), ncclSuccess);
  });
}

TEST(Nonblocking, ShrinkAndGrowToo) {
  ncclUniqueId grow_id;
  std::latch told(1);
  std::thread newcomer([&] {
    told.wait();
    ncclConfig_t config = nonblocking();
    ncclComm_t grown = nullptr;
    ASSERT_EQ(ncclCommGrow(nullptr, 3, &grow_id, 2, &grown, &config), ncclInProgress);
    ASSERT_NE(grown, nullptr);
    ASSERT_EQ(settle(grown), ncclSuccess) << ncclGetLastError(nullptr);
    EXPECT_EQ(ncclCommDestroy(grown), ncclSuccess);
  });
  run_nonblocking(3, [&](int rank, ncclComm_t comm) {
    if (rank == 2) return;
    int excluded[] = {2};
    ncclComm_t two = nullptr;
    ASSERT_EQ(ncclCommShrink(comm, excluded, 1, &two, nullptr, NCCL_SHRINK_DEFAULT),
              ncclInProgress);
    ASSERT_EQ(settle(comm), ncclSuccess) << ncclGetLastError(comm);
    if (rank == 0) {
      ASSERT_EQ(ncclCommGetUniqueId(two, &grow_id), ncclSuccess);
      told.count_down();
    }
    ncclComm_t three = nullptr;
    ASSERT_EQ(ncclCommGrow(two, 3, rank == 0 ? &grow_id : nullptr, -1, &three, nullptr),
              ncclInProgress);
    ASSERT_EQ(settle(two), ncclSuccess) << ncclGetLastError(two);
    EXPECT_EQ(ncclCommDestroy(three), ncclSuccess);
    EXPECT_EQ(ncclCommDestroy(two), ncclSuccess);
  });
  newcomer.join();
}

TEST(Nonblocking, BlockingOnesInTheSameGroupAreRefused) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclConfig_t config = nonblocking();
  ncclComm_t one = nullptr;
  ncclComm_t other = nullptr;
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  ASSERT_EQ(ncclCommInitRankConfig(&one, 2, id, 0, &config), ncclSuccess);
  ASSERT_EQ(ncclCommInitRank(&other, 2, id, 1), ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("blocking and non-blocking"));
  ASSERT_NE(one, nullptr);
  EXPECT_EQ(settle(one), ncclInvalidArgument);
  EXPECT_EQ(ncclCommAbort(one), ncclSuccess);
  EXPECT_EQ(other, nullptr);
}

TEST(Nonblocking, ManyInOneGroup) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclConfig_t config = nonblocking();
  std::vector<ncclComm_t> comms(6);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (int rank = 0; rank < 6; ++rank)
    ASSERT_EQ(ncclCommInitRankConfig(&comms[rank], 6, id, rank, &config), ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclInProgress);
  for (ncclComm_t comm : comms) EXPECT_EQ(settle(comm), ncclSuccess) << ncclGetLastError(comm);
  for (ncclComm_t comm : comms) EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

TEST(Nonblocking, TheEnvironmentDecides) {
  const Environment environment(Settings{{"NCCL_COMM_BLOCKING", "0"}});
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRank(&comm, 1, id, 0), ncclInProgress);
  EXPECT_EQ(settle(comm), ncclSuccess);
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  // Who gets all its communicators at once has nothing to ask in between.
  EXPECT_EQ(ncclCommInitAll(&comm, 1, nullptr), ncclSuccess);
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

}  // namespace
}  // namespace strait::test
