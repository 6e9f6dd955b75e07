// The host calls of the device API: what only computes, computes; what needs a device, refuses.

#include "api/device_api.h"

#include <gmock/gmock.h>

#include <cstring>

#include "tests/api/world.hpp"

namespace strait::test {
namespace {

void expect_team(const ncclTeam_t& team, int ranks, int rank, int stride) {
  EXPECT_EQ(team.nRanks, ranks);
  EXPECT_EQ(team.rank, rank);
  EXPECT_EQ(team.stride, stride);
}

TEST(DeviceApi, TeamsFollowTheDomains) {
  run_world(6, {{"STRAIT_EMULATE_DOMAINS", "3"}}, [](int rank, ncclComm_t comm) {
    expect_team(ncclTeamWorld(comm), 6, rank, 1);
    expect_team(ncclTeamLsa(comm), 3, rank % 3, 1);
    expect_team(ncclTeamRail(comm), 2, rank / 3, 3);
    EXPECT_EQ(ncclTeamRankToWorld(comm, ncclTeamRail(comm), 1), 3 + rank % 3);
    EXPECT_EQ(ncclTeamRankToLsa(comm, ncclTeamLsa(comm), 2), 2);
  });
  run_world(3, {{"STRAIT_EMULATE_DOMAINS", "2"}}, [](int rank, ncclComm_t comm) {
    expect_team(ncclTeamLsa(comm), 1, 0, 1);  // domains of two and one
    expect_team(ncclTeamRail(comm), 3, rank, 1);
  });
  expect_team(ncclTeamWorld(nullptr), 0, 0, 0);
}

TEST(DeviceApi, PropertiesAreFilledInAsFarAsTheStructReaches) {
  run_world(2, {{"STRAIT_EMULATE_DOMAINS", "1"}}, [](int rank, ncclComm_t comm) {
    ncclCommProperties_t properties;
    std::memset(&properties, 0xcd, sizeof properties);
    properties.size = sizeof properties;
    properties.magic = NCCL_API_MAGIC;
    properties.version = NCCL_VERSION_CODE;
    ASSERT_EQ(ncclCommQueryProperties(comm, &properties), ncclSuccess);
    EXPECT_EQ(properties.rank, rank);
    EXPECT_EQ(properties.nRanks, 2);
    EXPECT_FALSE(properties.deviceApiSupport);
    EXPECT_FALSE(properties.multimemSupport);
    EXPECT_EQ(properties.ginType, NCCL_GIN_TYPE_NONE);
    EXPECT_EQ(properties.nLsaTeams, 2);
    EXPECT_TRUE(properties.hostRmaSupport);
    // Fields that 2.29.2 did not have stay as they are.
    properties.version = NCCL_VERSION(2, 29, 2);
    properties.nLsaTeams = 77;
    ASSERT_EQ(ncclCommQueryProperties(comm, &properties), ncclSuccess);
    EXPECT_EQ(properties.nLsaTeams, 77);
    properties.magic = 1;
    EXPECT_EQ(ncclCommQueryProperties(comm, &properties), ncclInvalidUsage);
    EXPECT_EQ(ncclCommQueryProperties(comm, nullptr), ncclInvalidArgument);
    EXPECT_EQ(ncclCommQueryProperties(nullptr, &properties), ncclInvalidArgument);
  });
}

TEST(DeviceApi, RequirementsAreComputed) {
  ncclDevResourceRequirements_t needs;
  ncclLsaBarrierHandle_t barrier{};
  ASSERT_EQ(ncclLsaBarrierCreateRequirement({4, 0, 1}, 2, &barrier, &needs), ncclSuccess);
  EXPECT_EQ(needs.bufferSize, 56U);
  EXPECT_EQ(needs.bufferAlign, 4U);
  EXPECT_EQ(needs.outBufferHandle, &barrier.bufHandle);
  EXPECT_EQ(barrier.nBarriers, 2);
  ncclGinBarrierHandle_t gin{};
  ASSERT_EQ(ncclGinBarrierCreateRequirement(nullptr, {4, 0, 1}, 3, &gin, &needs), ncclSuccess);
  EXPECT_EQ(needs.ginSignalCount, 12);
  EXPECT_EQ(needs.outGinSignalStart, &gin.signal0);
  EXPECT_EQ(needs.bufferSize, 0U);
  EXPECT_EQ(ncclLLA2ACalcSlots(32, 16), 64);
  EXPECT_EQ(ncclLLA2ACalcSlots(3, 9), 6);
  ncclLLA2AHandle_t exchange{};
  ASSERT_EQ(ncclLLA2ACreateRequirement(1, 64, &exchange, &needs), ncclSuccess);
  EXPECT_EQ(needs.bufferSize, 2064U);
  EXPECT_EQ(exchange.nSlots, 64U);
  EXPECT_EQ(ncclLLA2ACreateRequirement(1, 64, nullptr, &needs), ncclInvalidArgument);
}

TEST(DeviceApi, WhatNeedsADeviceRefuses) {
  run_world(1, {}, [](int, ncclComm_t comm) {
    char place[256] = {};
    void* pointer = place;
    EXPECT_EQ(ncclDevCommCreate(comm, place, place), ncclInvalidUsage);
    EXPECT_THAT(ncclGetLastError(comm), testing::HasSubstr("deviceApiSupport"));
    EXPECT_EQ(ncclDevCommDestroy(comm, place), ncclInvalidUsage);
    EXPECT_EQ(ncclGetPeerDevicePointer(nullptr, 0, 0, &pointer), ncclInvalidUsage);
    EXPECT_EQ(ncclGetLsaDevicePointer(nullptr, 0, 0, &pointer), ncclInvalidUsage);
    EXPECT_EQ(ncclGetLsaMultimemDevicePointer(nullptr, 0, &pointer), ncclInvalidUsage);
    EXPECT_EQ(pointer, place) << "the output is left alone";
  });
}

}  // namespace
}  // namespace strait::test
