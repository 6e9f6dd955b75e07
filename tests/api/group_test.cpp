// What a group may hold and what it does with errors.

#include <gmock/gmock.h>

#include "base/clock.hpp"
#include "strait.h"
#include "tests/api/world.hpp"

namespace strait::test {
namespace {

using testing::HasSubstr;

TEST(Groups, SeveralCommunicatorsStreamsAndTypesAtOnce) {
  ncclUniqueId ids[2];
  for (ncclUniqueId& id : ids) ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  on_threads(3, [&](int rank) {
    ncclComm_t comms[2] = {};
    cudaStream_t streams[2] = {};
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    for (int i = 0; i < 2; ++i)
      ASSERT_EQ(ncclCommInitRank(&comms[i], 3, ids[i], rank), ncclSuccess);
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
    for (cudaStream_t& stream : streams) ASSERT_EQ(straitStreamCreate(&stream), ncclSuccess);
    std::vector<float> floats(1'000, 1);
    std::vector<int64_t> longs(300, rank);
    std::vector<uint8_t> bytes(3 * 64);
    std::vector<uint8_t> mine(64, static_cast<uint8_t>(rank));
    double late = rank;
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    EXPECT_EQ(ncclAllReduce(floats.data(), floats.data(), floats.size(), ncclFloat, ncclSum,
                            comms[0], streams[0]),
              ncclSuccess);
    EXPECT_EQ(ncclAllReduce(longs.data(), longs.data(), longs.size(), ncclInt64, ncclMax, comms[1],
                            streams[1]),
              ncclSuccess);
    EXPECT_EQ(ncclAllGather(mine.data(), bytes.data(), 64, ncclUint8, comms[0], streams[1]),
              ncclSuccess);
    EXPECT_EQ(ncclAllReduce(&late, &late, 1, ncclDouble, ncclMin, comms[1], nullptr), ncclSuccess);
    EXPECT_EQ(floats[0], 1);  // nothing has begun
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
    EXPECT_EQ(late, 0);  // a call without a stream is complete
    for (cudaStream_t stream : streams) ASSERT_EQ(straitStreamDestroy(stream), ncclSuccess);
    EXPECT_EQ(floats, std::vector<float>(1'000, 3));
    EXPECT_EQ(longs, std::vector<int64_t>(300, 2));
    for (int other = 0; other < 3; ++other) EXPECT_EQ(bytes[other * 64 + 63], other);
    for (ncclComm_t comm : comms) EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  });
}

TEST(Groups, MakingAndUsingDoNotMix) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclComm_t comm = nullptr;
  ASSERT_EQ(ncclCommInitAll(&comm, 1, nullptr), ncclSuccess);
  for (const bool split : {false, true}) {
    int value = 1;
    ncclComm_t made = nullptr;
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, nullptr), ncclSuccess);
    if (split)
      EXPECT_EQ(ncclCommSplit(comm, 0, 0, &made, nullptr), ncclSuccess);
    else
      EXPECT_EQ(ncclCommInitRank(&made, 1, id, 0), ncclSuccess);
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
    EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("makes communicators and uses some"));
    EXPECT_EQ(made, nullptr);
    // The next group has nothing of this one.
    EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, nullptr), ncclSuccess);
  }
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

TEST(Groups, AnInitDroppedWithItsGroupFailsItsPeersAtOnce) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  const Deadline prompt = Deadline::after_ms(3'000);
  std::thread peer([&] {
    ncclComm_t comm = nullptr;
    EXPECT_EQ(ncclCommInitRank(&comm, 2, id, 1), ncclInvalidArgument);
    EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("rank 0"));
  });
  ncclComm_t comm = nullptr;
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(ncclCommInitRank(&comm, 2, id, 0), ncclSuccess);
  EXPECT_EQ(ncclCommInitRank(nullptr, 2, id, 0), ncclInvalidArgument);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);
  peer.join();
  EXPECT_FALSE(prompt.passed());
}

TEST(Groups, AnOperationMayBeDestroyedBeforeTheEnd) {
  run_world(2, {}, [](int rank, ncclComm_t comm) {
    float scale = 2;
    ncclRedOp_t op;
    ASSERT_EQ(ncclRedOpCreatePreMulSum(&op, &scale, ncclFloat, ncclScalarHostImmediate, comm),
              ncclSuccess);
    float value = static_cast<float>(rank + 1);
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclFloat, op, comm, nullptr), ncclSuccess);
    EXPECT_EQ(ncclRedOpDestroy(op, comm), ncclSuccess);
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(comm);
    EXPECT_EQ(value, 6);
  });
}

TEST(Groups, MessagesOfNoBytesPairAmongOthers) {
  run_world(3, {}, [](int rank, ncclComm_t comm) {
    const int next = (rank + 1) % 3;
    const int previous = (rank + 2) % 3;
    std::vector<int> sent = {rank, rank + 10};
    std::vector<int> got = {-1, -1};
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    EXPECT_EQ(ncclSend(nullptr, 0, ncclInt, next, comm, nullptr), ncclSuccess);
    EXPECT_EQ(ncclSend(&sent[0], 1, ncclInt, next, comm, nullptr), ncclSuccess);
    EXPECT_EQ(ncclSend(&sent[0], 0, ncclFloat, next, comm, nullptr), ncclSuccess);
    EXPECT_EQ(ncclSend(&sent[1], 1, ncclInt, next, comm, nullptr), ncclSuccess);
    EXPECT_EQ(ncclRecv(nullptr, 0, ncclInt8, previous, comm, nullptr), ncclSuccess);
    EXPECT_EQ(ncclRecv(&got[0], 1, ncclInt, previous, comm, nullptr), ncclSuccess);
    EXPECT_EQ(ncclRecv(&got[0], 0, ncclInt, previous, comm, nullptr), ncclSuccess);
    EXPECT_EQ(ncclRecv(&got[1], 1, ncclInt, previous, comm, nullptr), ncclSuccess);
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(comm);
    EXPECT_EQ(got, (std::vector<int>{previous, previous + 10}));
  });
}

TEST(Groups, AnEmptyGroupIsFine) {
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
}

TEST(Mismatch, MessagesOfOtherSizesFailBothEnds) {
  // More than one slot, so that the pieces of both fit each other up to the last.
  for (const size_t sent_bytes : {size_t{100}, size_t{256} << 10}) {
    run_world(2, {{"STRAIT_TIMEOUT_MS", "20000"}}, [&](int rank, ncclComm_t comm) {
      std::vector<char> values(1 << 20);
      const Deadline prompt = Deadline::after_ms(5'000);
      const ncclResult_t result =
          rank == 0 ? ncclSend(values.data(), sent_bytes, ncclInt8, 1, comm, nullptr)
                    : ncclRecv(values.data(), 128 << 10, ncclInt8, 0, comm, nullptr);
      EXPECT_FALSE(prompt.passed());
      if (rank == 0) return;
      EXPECT_EQ(result, ncclInvalidUsage);
      EXPECT_THAT(ncclGetLastError(comm),
                  testing::AllOf(HasSubstr("receive of 131072 int8 with rank 0"),
                                 HasSubstr(std::to_string(sent_bytes) + " bytes")));
    });
  }
}

TEST(Mismatch, TwoThreadsOnOneCommunicatorAreTold) {
  run_world(2, {{"STRAIT_TIMEOUT_MS", "20000"}}, [](int rank, ncclComm_t comm) {
    int value = rank;
    if (rank == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, nullptr), ncclSuccess);
      return;
    }
    std::thread second([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      int other = 0;
      EXPECT_EQ(ncclAllReduce(&other, &other, 1, ncclInt, ncclSum, comm, nullptr),
                ncclInvalidUsage);
      EXPECT_THAT(ncclGetLastError(comm), HasSubstr("another thread is in a call"));
      // Asking is always allowed.
      ncclResult_t state = ncclSuccess;
      EXPECT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
      EXPECT_EQ(state, ncclSuccess);
    });
    EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, nullptr), ncclSuccess)
        << ncclGetLastError(comm);
    EXPECT_EQ(value, 1);
    second.join();
  });
}

TEST(Mismatch, OtherCollectivesAndOtherTypesAreNamed) {
  run_world(3, {{"STRAIT_TIMEOUT_MS", "20000"}}, [](int rank, ncclComm_t comm) {
    std::vector<float> values(100, 1);
    const Deadline prompt = Deadline::after_ms(10'000);
    const ncclResult_t result =
        rank == 2
            ? ncclBroadcast(values.data(), values.data(), 100, ncclFloat, 0, comm, nullptr)
            : ncclAllReduce(values.data(), values.data(), 100, ncclFloat, ncclSum, comm, nullptr);
    EXPECT_TRUE(result == ncclInvalidUsage || result == ncclRemoteError) << result;
    EXPECT_FALSE(prompt.passed());
  });
  run_world(2, {{"STRAIT_TIMEOUT_MS", "20000"}}, [](int rank, ncclComm_t comm) {
    std::vector<double> values(100, 1);
    const ncclDataType_t type = rank == 0 ? ncclFloat : ncclDouble;
    const ncclResult_t result =
        ncclAllReduce(values.data(), values.data(), 100, type, ncclSum, comm, nullptr);
    EXPECT_TRUE(result == ncclInvalidUsage || result == ncclRemoteError) << result;
    EXPECT_THAT(ncclGetLastError(comm),
                testing::AllOf(HasSubstr("float sum"), HasSubstr("double sum")));
  });
}

TEST(Names, ACommunicatorsNameIsInItsErrors) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  on_threads(2, [&](int rank) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.commName = "tensor parallel 3";
    config.trafficClass = 104;
    ncclComm_t comm = nullptr;
    ASSERT_EQ(ncclCommInitRankConfig(&comm, 2, id, rank, &config), ncclSuccess);
    float value = 1;
    EXPECT_NE(
        ncclAllReduce(&value, &value, 1, ncclFloat, rank == 0 ? ncclSum : ncclMax, comm, nullptr),
        ncclSuccess);
    EXPECT_THAT(ncclGetLastError(comm), HasSubstr("communicator tensor parallel 3"));
    EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  });
}

}  // namespace
}  // namespace strait::test
