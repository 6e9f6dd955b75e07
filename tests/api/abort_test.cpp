// Abort and death: whoever waits returns in bounded time with the reason, whatever the others do.

#include <gmock/gmock.h>

#include <atomic>

#include "base/clock.hpp"
#include "strait.h"
#include "tests/api/world.hpp"

namespace strait::test {
namespace {

TEST(Abort, EndsACallThatWaitsInAnotherThreadAndItsPeers) {
  for (const char* transports : {"inproc,shm,tcp", "shm,tcp", "tcp"}) {
    const Environment environment(Settings{{"STRAIT_TRANSPORTS", transports}});
    ncclUniqueId id;
    ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
    on_threads(3, [&](int rank) {
      ncclComm_t comm = nullptr;
      ASSERT_EQ(ncclCommInitRank(&comm, 3, id, rank), ncclSuccess) << ncclGetLastError(nullptr);
      int value = 1;
      ASSERT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, nullptr), ncclSuccess);
      if (rank == 2) {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
        return;
      }
      const Deadline bound = Deadline::after_ms(3'000);
      if (rank == 0) {
        std::thread killer([comm] {
          std::this_thread::sleep_for(std::chrono::milliseconds(100));
          EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
        });
        EXPECT_NE(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, nullptr), ncclSuccess);
        killer.join();
      } else {
        EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, nullptr),
                  ncclRemoteError);
        EXPECT_THAT(ncclGetLastError(comm), testing::HasSubstr("abort"));
        EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
      }
      EXPECT_FALSE(bound.passed()) << transports;
    });
  }
}

TEST(Abort, OnAStreamLeavesTheReasonOnTheCommunicator) {
  run_world(2, {}, [](int rank, ncclComm_t comm) {
    int value = 1;
    ASSERT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, nullptr), ncclSuccess);
    cudaStream_t stream = nullptr;
    ASSERT_EQ(straitStreamCreate(&stream), ncclSuccess);
    if (rank == 0) {
      // Rank 1 makes another call: both fail, without a blocked caller.
      ASSERT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, stream), ncclSuccess);
    } else {
      ASSERT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclMax, comm, stream), ncclSuccess);
    }
    EXPECT_EQ(straitStreamSynchronize(stream), ncclSuccess);
    ncclResult_t async = ncclSuccess;
    EXPECT_EQ(ncclCommGetAsyncError(comm, &async), ncclSuccess);
    EXPECT_NE(async, ncclSuccess);
    EXPECT_EQ(straitStreamDestroy(stream), ncclSuccess);
  });
}

TEST(Destroy, DoesNotWaitForPeersThatLeft) {
  run_world(3, {}, [](int rank, ncclComm_t comm) {
    std::vector<int> values(300'000, rank);
    ASSERT_EQ(
        ncclAllReduce(values.data(), values.data(), values.size(), ncclInt, ncclSum, comm, nullptr),
        ncclSuccess);
    ASSERT_EQ(values, std::vector<int>(300'000, 3));
    // Ranks leave at different times; what each was sent has arrived.
    std::this_thread::sleep_for(std::chrono::milliseconds(rank * 50));
  });
}

// Rank 0 waits for a link that rank 1 never opens: there is nothing whose end could be seen.
TEST(Destroy, IsNoticedByWhoWaitsForALink) {
  for (const char* transports : {"inproc", "shm", "tcp"}) {
    const Settings settings = {{"STRAIT_TRANSPORTS", transports},
                               {"STRAIT_INIT_TIMEOUT_MS", "20000"}};
    run_world(2, settings, [&](int rank, ncclComm_t comm) {
      if (rank == 1) return;
      const Deadline bound = Deadline::after_ms(5'000);
      int value = 1;
      EXPECT_EQ(ncclBroadcast(&value, &value, 1, ncclInt, 1, comm, nullptr), ncclRemoteError);
      EXPECT_THAT(ncclGetLastError(comm), testing::HasSubstr("rank 1"));
      EXPECT_FALSE(bound.passed()) << transports;
    });
  }
}

TEST(Destroy, ManyCommunicatorsComeAndGo) {
  for (int i = 0; i < 20; ++i) {
    run_world(4, {}, [](int rank, ncclComm_t comm) {
      int value = rank;
      ASSERT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, nullptr), ncclSuccess);
      EXPECT_EQ(value, 6);
    });
  }
}

}  // namespace
}  // namespace strait::test
