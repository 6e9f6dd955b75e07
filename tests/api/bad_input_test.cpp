// Bad input: NCCL's code and one sentence, promptly, on every rank that is concerned; the
// communicator survives where nothing was sent.

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "base/clock.hpp"
#include "tests/api/world.hpp"

namespace strait::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr int64_t kPromptMs = 5'000;

TEST(BadInput, ArgumentsOfCollectives) {
  run_world(2, {}, [](int rank, ncclComm_t comm) {
    float value = 1;
    const auto refused = [&](ncclResult_t result, const char* part) {
      EXPECT_EQ(result, ncclInvalidArgument) << part;
      if (rank == 0) {
        EXPECT_THAT(ncclGetLastError(comm), HasSubstr(part));
      }
    };
    // One rank at a time: the last error belongs to the whole process.
    if (rank != 0) return;
    refused(ncclAllReduce(nullptr, &value, 1, ncclFloat, ncclSum, comm, nullptr),
            "sendbuff is NULL");
    refused(ncclAllReduce(&value, nullptr, 1, ncclFloat, ncclSum, comm, nullptr),
            "recvbuff is NULL");
    refused(
        ncclAllReduce(&value, &value, 1, static_cast<ncclDataType_t>(12), ncclSum, comm, nullptr),
        "data type 12");
    refused(
        ncclAllReduce(&value, &value, 1, static_cast<ncclDataType_t>(-1), ncclSum, comm, nullptr),
        "data type -1");
    refused(ncclAllReduce(&value, &value, 1, ncclFloat, static_cast<ncclRedOp_t>(6), comm, nullptr),
            "operation 6");
    refused(ncclBroadcast(&value, &value, 1, ncclFloat, 2, comm, nullptr), "not among the 2 ranks");
    refused(ncclBroadcast(&value, &value, 1, ncclFloat, -1, comm, nullptr),
            "not among the 2 ranks");
    refused(ncclSend(&value, 1, ncclFloat, 5, comm, nullptr), "peer 5");
    refused(ncclAllReduce(&value, &value, 1, ncclFloat, ncclSum, nullptr, nullptr),
            "communicator is NULL");
  });
}

TEST(BadInput, CountsBeyondAllMemoryAreRefused) {
  run_world(2, {}, [](int rank, ncclComm_t comm) {
    if (rank != 0) return;
    float value = 1;
    // Their bytes, or those of both ranks, are 0 or 4 in 64 bits.
    for (const size_t count : {size_t{1} << 63, (size_t{1} << 62) + 1, SIZE_MAX}) {
      EXPECT_EQ(ncclAllReduce(&value, &value, count, ncclFloat, ncclSum, comm, nullptr),
                ncclInvalidArgument);
      EXPECT_THAT(ncclGetLastError(comm), HasSubstr("larger than a process can address"));
      EXPECT_EQ(ncclAllGather(&value, &value, count, ncclFloat, comm, nullptr),
                ncclInvalidArgument);
      EXPECT_EQ(ncclScatter(&value, &value, count, ncclInt8, 1, comm, nullptr),
                ncclInvalidArgument);
      EXPECT_EQ(ncclRecv(&value, count, ncclDouble, 1, comm, nullptr), ncclInvalidArgument);
    }
  });
}

TEST(BadInput, HandlesThatAreNoCommunicators) {
  int count = 0;
  int garbage[64] = {};
  EXPECT_EQ(ncclCommCount(reinterpret_cast<ncclComm_t>(garbage), &count), ncclInvalidArgument);
  EXPECT_EQ(ncclCommDestroy(nullptr), ncclSuccess);
  ncclComm_t comm = nullptr;
  ASSERT_EQ(ncclCommInitAll(&comm, 1, nullptr), ncclSuccess) << ncclGetLastError(nullptr);
  EXPECT_EQ(ncclCommCount(comm, nullptr), ncclInvalidArgument);
  ASSERT_EQ(ncclCommDestroy(comm), ncclSuccess);
  EXPECT_EQ(ncclCommDestroy(comm), ncclInvalidArgument);
  EXPECT_EQ(ncclCommCount(comm, &count), ncclInvalidArgument);
}

TEST(BadInput, FinalizedCommunicatorsTakeNoMoreCalls) {
  ncclComm_t comm = nullptr;
  ASSERT_EQ(ncclCommInitAll(&comm, 1, nullptr), ncclSuccess);
  ASSERT_EQ(ncclCommFinalize(comm), ncclSuccess);
  float value = 1;
  EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclFloat, ncclSum, comm, nullptr), ncclInvalidUsage);
  EXPECT_EQ(ncclCommFinalize(comm), ncclInvalidArgument);
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

// Two ranks that join with the given numbers; returns both results.
std::pair<ncclResult_t, ncclResult_t> join_two(int first, int second, int first_count,
                                               int second_count) {
  ncclUniqueId id;
  EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclResult_t results[2];
  const int ranks[2] = {first, second};
  const int counts[2] = {first_count, second_count};
  on_threads(2, [&](int i) {
    ncclComm_t comm = nullptr;
    results[i] = ncclCommInitRank(&comm, counts[i], id, ranks[i]);
    if (results[i] == ncclSuccess) ncclCommDestroy(comm);
  });
  return {results[0], results[1]};
}

TEST(BadInput, ASecondRankWithTheSameNumberFailsBoth) {
  const Deadline prompt = Deadline::after_ms(kPromptMs);
  const auto [first, second] = join_two(1, 1, 2, 2);
  EXPECT_NE(first, ncclSuccess);
  EXPECT_NE(second, ncclSuccess);
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("rank 1"));
  EXPECT_FALSE(prompt.passed());
}

TEST(BadInput, RankCountsThatDifferFailBoth) {
  const Deadline prompt = Deadline::after_ms(kPromptMs);
  const auto [first, second] = join_two(0, 1, 2, 3);
  EXPECT_NE(first, ncclSuccess);
  EXPECT_NE(second, ncclSuccess);
  EXPECT_FALSE(prompt.passed());
}

TEST(BadInput, ARankOutOfRangeFailsEveryRank) {
  const Deadline prompt = Deadline::after_ms(kPromptMs);
  const auto [first, second] = join_two(0, 2, 2, 2);
  EXPECT_NE(first, ncclSuccess);
  EXPECT_EQ(second, ncclInvalidArgument);
  EXPECT_FALSE(prompt.passed());
}

TEST(BadInput, SettingsThatDifferNameTheKey) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  // The environment is one for all threads, so the second rank reads it only after the first has.
  ncclResult_t results[2];
  std::thread first([&] {
    const Environment environment(Settings{{"STRAIT_SLOTS", "3"}});
    ncclComm_t comm = nullptr;
    results[0] = ncclCommInitRank(&comm, 2, id, 0);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  {
    const Environment environment(Settings{{"STRAIT_SLOTS", "5"}});
    ncclComm_t comm = nullptr;
    results[1] = ncclCommInitRank(&comm, 2, id, 1);
    EXPECT_THAT(ncclGetLastError(nullptr),
                AllOf(HasSubstr("SLOTS"), HasSubstr("rank 0"), HasSubstr("rank 1")));
  }
  first.join();
  EXPECT_NE(results[0], ncclSuccess);
  EXPECT_NE(results[1], ncclSuccess);
}

TEST(BadInput, ASettingOutOfRangeIsRefused) {
  const Environment environment(Settings{{"STRAIT_SLOTS", "many"}});
  ncclUniqueId id;
  EXPECT_EQ(ncclGetUniqueId(&id), ncclInvalidArgument);
  EXPECT_THAT(ncclGetLastError(nullptr), AllOf(HasSubstr("STRAIT_SLOTS"), HasSubstr("many")));
}

TEST(BadInput, TheIdOfAnotherLibraryIsRecognised) {
  ncclUniqueId id;
  std::memset(&id, 0x42, sizeof id);
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRank(&comm, 2, id, 0), ncclInvalidArgument);
  EXPECT_EQ(comm, nullptr);
  EXPECT_EQ(ncclGetUniqueId(nullptr), ncclInvalidArgument);
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  EXPECT_EQ(ncclCommInitRank(nullptr, 1, id, 0), ncclInvalidArgument);
}

TEST(BadInput, ConfigsThatWereNotSetUpAreRefused) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  ncclComm_t comm = nullptr;
  config.magic = 0;
  EXPECT_EQ(ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclInvalidArgument);
  config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 2;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  EXPECT_EQ(ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclInvalidArgument);
  config = NCCL_CONFIG_INITIALIZER;
  config.minCTAs = 4;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ASSERT_EQ(ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclSuccess)
      << ncclGetLastError(nullptr);
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

TEST(BadInput, CallsThatDifferAcrossRanksFailBothAndNameThem) {
  run_world(2, {{"STRAIT_TIMEOUT_MS", "20000"}}, [](int rank, ncclComm_t comm) {
    std::vector<float> values(1000, 1);
    const Deadline prompt = Deadline::after_ms(kPromptMs);
    ASSERT_EQ(ncclAllReduce(values.data(), values.data(), 1000, ncclFloat, ncclSum, comm, nullptr),
              ncclSuccess);
    const ncclRedOp_t op = rank == 0 ? ncclSum : ncclMax;
    const ncclResult_t result =
        ncclAllReduce(values.data(), values.data(), 1000, ncclFloat, op, comm, nullptr);
    EXPECT_TRUE(result == ncclInvalidUsage || result == ncclRemoteError) << result;
    EXPECT_THAT(ncclGetLastError(comm), HasSubstr("all_reduce"));
    EXPECT_FALSE(prompt.passed());
    ncclResult_t async = ncclSuccess;
    EXPECT_EQ(ncclCommGetAsyncError(comm, &async), ncclSuccess);
    EXPECT_EQ(async, result);
    EXPECT_EQ(ncclAllReduce(values.data(), values.data(), 1000, ncclFloat, ncclSum, comm, nullptr),
              result);
  });
}

TEST(BadInput, CountsThatDifferAcrossRanksFailBoth) {
  run_world(2, {{"STRAIT_TIMEOUT_MS", "20000"}}, [](int rank, ncclComm_t comm) {
    std::vector<float> values(1000, 1);
    const size_t count = rank == 0 ? 1000 : 900;
    EXPECT_NE(ncclAllReduce(values.data(), values.data(), count, ncclFloat, ncclSum, comm, nullptr),
              ncclSuccess);
  });
}

TEST(BadInput, WaitingForARankThatNeverCallsEndsInAVerdict) {
  run_world(
      2, {{"STRAIT_TIMEOUT_MS", "300"}, {"STRAIT_INIT_TIMEOUT_MS", "5000"}},
      [](int rank, ncclComm_t comm) {
        float value = 1;
        ASSERT_EQ(ncclAllReduce(&value, &value, 1, ncclFloat, ncclSum, comm, nullptr), ncclSuccess);
        if (rank == 1) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1000));
          return;
        }
        EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclFloat, ncclSum, comm, nullptr), ncclTimeout);
        EXPECT_THAT(ncclGetLastError(comm), AllOf(HasSubstr("rank 1"), HasSubstr("300 ms")));
      });
}

TEST(BadInput, AFirstCallWaitsAsLongAsAnyOther) {
  // The limit of init is no limit of calls, also where the call still has to open its links.
  run_world(
      2, {{"STRAIT_INIT_TIMEOUT_MS", "2000"}, {"STRAIT_TIMEOUT_MS", "20000"}},
      [](int rank, ncclComm_t comm) {
        if (rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(2500));
        float value = 1;
        EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclFloat, ncclSum, comm, nullptr), ncclSuccess)
            << ncclGetLastError(comm);
      });
}

TEST(BadInput, AFirstCallThatNobodyElseMakesEndsInAVerdict) {
  run_world(2, {{"STRAIT_TIMEOUT_MS", "300"}}, [](int rank, ncclComm_t comm) {
    if (rank == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1000));
      return;
    }
    float value = 1;
    EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclFloat, ncclSum, comm, nullptr), ncclTimeout);
    EXPECT_THAT(ncclGetLastError(comm), AllOf(HasSubstr("rank 1"), HasSubstr("300 ms")));
  });
}

TEST(BadInput, AnInitThatMissesARankEndsInAVerdict) {
  const Environment environment(Settings{{"STRAIT_INIT_TIMEOUT_MS", "300"}});
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRank(&comm, 3, id, 1), ncclTimeout);
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("ranks 0, 2 of 3 did not arrive within"));
}

}  // namespace
}  // namespace strait::test
