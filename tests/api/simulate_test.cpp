// ncclGroupSimulateEnd: nothing is carried out, and the estimate grows with what there is to do.

#include <gmock/gmock.h>

#include "tests/api/world.hpp"

namespace strait::test {
namespace {

float simulated_us(const std::function<void()>& calls) {
  ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
  EXPECT_EQ(ncclGroupStart(), ncclSuccess);
  calls();
  EXPECT_EQ(ncclGroupSimulateEnd(&info), ncclSuccess) << ncclGetLastError(nullptr);
  return info.estimatedTime;
}

TEST(Simulate, MoreTakesLongerAndNothingMoves) {
  run_world(4, {{"STRAIT_EMULATE_DOMAINS", "2"}}, [](int rank, ncclComm_t comm) {
    if (rank != 0) return;  // nobody is waited for
    std::vector<float> values(1 << 24, 1);
    const auto sum = [&](size_t count) {
      EXPECT_EQ(
          ncclAllReduce(values.data(), values.data(), count, ncclFloat, ncclSum, comm, nullptr),
          ncclSuccess);
    };
    const float nothing = simulated_us([] {});
    const float small = simulated_us([&] { sum(1 << 10); });
    const float large = simulated_us([&] { sum(1 << 20); });
    const float twice = simulated_us([&] { sum(1 << 20), sum(1 << 20); });
    const float huge = simulated_us([&] { sum(1 << 24); });
    const float message = simulated_us([&] {
      EXPECT_EQ(ncclSend(values.data(), 1 << 20, ncclFloat, 3, comm, nullptr), ncclSuccess);
    });
    EXPECT_EQ(nothing, 0.0F);
    EXPECT_GT(small, 0.0F);
    EXPECT_GT(large, 2 * small);
    EXPECT_NEAR(twice, 2 * large, large / 100);
    EXPECT_GT(huge, 8 * large);
    EXPECT_LT(huge, 32 * large);
    EXPECT_GT(message, 10.0F);
    EXPECT_EQ(values, std::vector<float>(1 << 24, 1));
  });
}

TEST(Simulate, TheGroupEndsWhateverIsWrong) {
  run_world(1, {}, [](int, ncclComm_t) {
    ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
    EXPECT_EQ(ncclGroupSimulateEnd(&info), ncclInvalidUsage) << "no group is open";
    const auto ended_with = [&](ncclSimInfo_t* given) {
      EXPECT_EQ(ncclGroupStart(), ncclSuccess);
      const ncclResult_t result = ncclGroupSimulateEnd(given);
      EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage) << "the group has ended";
      return result;
    };
    EXPECT_EQ(ended_with(nullptr), ncclInvalidArgument);
    info.magic = 5;
    EXPECT_EQ(ended_with(&info), ncclInvalidArgument);
    info = NCCL_SIM_INFO_INITIALIZER;
    info.size = 16;
    EXPECT_EQ(ended_with(&info), ncclInvalidArgument);
    EXPECT_EQ(info.estimatedTime, NCCL_UNDEF_FLOAT);
    info = NCCL_SIM_INFO_INITIALIZER;
    info.size = 100;  // of a newer header
    EXPECT_EQ(ended_with(&info), ncclSuccess);
    EXPECT_EQ(info.estimatedTime, 0.0F);
    EXPECT_EQ(info.size, 100U);
  });
}

TEST(Simulate, WhatWasRefusedFailsTheGroup) {
  run_world(1, {}, [](int, ncclComm_t comm) {
    ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    EXPECT_EQ(ncclSend(nullptr, 1, ncclFloat, 9, comm, nullptr), ncclInvalidArgument);
    EXPECT_EQ(ncclGroupSimulateEnd(&info), ncclSuccess) << "an inner group";
    EXPECT_EQ(ncclGroupSimulateEnd(&info), ncclInvalidArgument);
    EXPECT_EQ(info.estimatedTime, 0.0F);
  });
}

}  // namespace
}  // namespace strait::test
