// Finding the driver: there, absent, too old, or no driver at all. Each in a process of its own,
// since a process looks once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/cuda/device.hpp"
#include "cuda/peer_run.hpp"

namespace strait::cuda::test {
namespace {

using ::testing::HasSubstr;

// The states as the peer prints them.
constexpr const char* kReady = "state 0";
constexpr const char* kAbsent = "state 1";
constexpr const char* kUnusable = "state 2";

TEST(Driver, IsReadyWhereThereIsOne) {
  const Finished peer = run_peer("state");
  EXPECT_THAT(peer.output, HasSubstr(kReady));
  EXPECT_EQ(peer.exit_code, 0);
}

TEST(Driver, IsAbsentWithoutALibrary) {
  const Finished peer = run_peer("state", "STRAIT_CUDA_LIBRARY=/nowhere/libcuda.so.1");
  EXPECT_THAT(peer.output, HasSubstr(kAbsent));
  EXPECT_THAT(peer.output, HasSubstr("no CUDA driver here"));
  EXPECT_THAT(peer.output, HasSubstr("install"));
}

TEST(Driver, IsAbsentWithoutADevice) {
  const Finished peer = run_peer("state", "STRAIT_STANDIN_DEVICES=0");
  EXPECT_THAT(peer.output, HasSubstr(kAbsent));
  EXPECT_THAT(peer.output, HasSubstr("CUDA_VISIBLE_DEVICES"));
}

TEST(Driver, OlderThanTwelveIsToldWithTheRemedy) {
  const Finished peer = run_peer("state", "STRAIT_STANDIN_VERSION=11080");
  EXPECT_THAT(peer.output, HasSubstr(kUnusable));
  EXPECT_THAT(peer.output, HasSubstr("the CUDA driver here is 11.8, 12.0 is the oldest"));
  EXPECT_THAT(peer.output, HasSubstr("525"));
}

TEST(Driver, TwelveWillDo) {
  EXPECT_THAT(run_peer("state", "STRAIT_STANDIN_VERSION=12000").output, HasSubstr(kReady));
}

TEST(Driver, AnotherLibraryIsNoDriver) {
  const Finished peer = run_peer("state", "STRAIT_CUDA_LIBRARY=libm.so.6");
  EXPECT_THAT(peer.output, HasSubstr(kUnusable));
  EXPECT_THAT(peer.output, HasSubstr("libm.so.6 is no CUDA driver"));
}

TEST(Driver, ThatDoesNotStartIsUnusable) {
  const Finished peer = run_peer("state", "STRAIT_STANDIN_FAIL=cuInit:1=802");
  EXPECT_THAT(peer.output, HasSubstr(kUnusable));
  EXPECT_THAT(peer.output, HasSubstr("cuInit: CUDA_ERROR_SYSTEM_NOT_READY"));
  EXPECT_THAT(peer.output, HasSubstr("nvidia-fabricmanager"));
}

TEST(Driver, DevicesSayWhatTheyAre) {
  const Finished peer = run_peer("facts",
                                 "STRAIT_STANDIN_DEVICES=3 STRAIT_STANDIN_MEMORY=64M "
                                 "STRAIT_STANDIN_SMS=16 STRAIT_STANDIN_FABRIC=ab/1");
  EXPECT_THAT(peer.output, HasSubstr("3 devices, 67108864 bytes, 16 SMs, virtual 1, fabric 1"));
  EXPECT_THAT(run_peer("facts", "STRAIT_STANDIN_VMM=0").output, HasSubstr("virtual 0, fabric 0"));
}

TEST(Driver, OfAParentIsNoGoodInAChild) {
  const Driver& opened = **driver();
  const pid_t child = fork();
  if (child == 0) {
    const Status status = device_facts(opened, 0).status();
    _exit(status.message().find("a process that used CUDA before it forked") !=
                  status.message().npos
              ? 0
              : 1);
  }
  int ended = 0;
  waitpid(child, &ended, 0);
  EXPECT_EQ(ended, 0);
}

TEST(Driver, ReadsNamesAndPlaces) {
  const Driver& opened = **driver();
  const Result<DeviceFacts> first = device_facts(opened, 0);
  const Result<DeviceFacts> second = device_facts(opened, 1);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->name, "Stand-in GPU");
  EXPECT_EQ(first->pci_bus_id, "0000:10:00.0");
  EXPECT_EQ(second->pci_bus_id, "0000:11:00.0");
  EXPECT_NE(first->uuid, second->uuid);
  EXPECT_EQ(first->compute_major, 9);
  const Result<DeviceFacts> none = device_facts(opened, 7);
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.status().message(), HasSubstr("cuda:7: cuDeviceGet: CUDA_ERROR_INVALID_DEVICE"));
}

TEST(Driver, SaysHowPeersReachEachOther) {
  const Result<PeerFacts> facts = peer_facts(**driver(), 0, 1);
  ASSERT_TRUE(facts.ok());
  EXPECT_TRUE(facts->access);
  EXPECT_TRUE(facts->native_atomics);
}

TEST(Nvml, TellsTheDomain) {
  const Finished peer =
      run_peer("fabric 0000:10:00.0", "STRAIT_STANDIN_FABRIC=00ff12/7 STRAIT_STANDIN_CHASSIS=R42");
  EXPECT_THAT(peer.output,
              HasSubstr("state 3 domain [00ff1200000000000000000000000000.7] chassis [R42]"));
}

TEST(Nvml, AFabricThatIsNotReadyIsNoDomain) {
  EXPECT_THAT(run_peer("fabric 0000:10:00.0", "STRAIT_STANDIN_FABRIC=ab/7/2").output,
              HasSubstr("state 2 domain []"));
  EXPECT_THAT(run_peer("fabric 0000:10:00.0", "STRAIT_STANDIN_FABRIC=00/7/3").output,
              HasSubstr("state 3 domain []"));
}

TEST(Nvml, WithoutItThereIsNoFabric) {
  const Finished peer = run_peer("fabric 0000:10:00.0", "STRAIT_NVML_LIBRARY=/nowhere/nvml.so");
  EXPECT_THAT(peer.output, HasSubstr("state 0 domain []"));
  EXPECT_EQ(peer.exit_code, 0);
}

TEST(Nvml, AGpuThatItDoesNotKnowIsTold) {
  const Finished peer = run_peer("fabric 0000:77:00.0");
  EXPECT_THAT(peer.output, HasSubstr("GPU 0000:77:00.0: nvmlDeviceGetHandleByPciBusId_v2"));
  EXPECT_EQ(peer.exit_code, 1);
}

}  // namespace
}  // namespace strait::cuda::test
