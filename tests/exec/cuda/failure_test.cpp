// What a kernel does when something is wrong: it says what and where, and it ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "exec/cuda/world.hpp"

namespace strait::test {
namespace {

Scene ring_of(uint64_t count, bool low_latency) {
  return {.request = {.collective = Collective::kAllReduce,
                      .type = DataType::kFloat32,
                      .reduce = ReduceKind::kSum,
                      .count = count},
          .topology = Topology::flat(3),
          .choice = {.algorithm = Algorithm::kRing, .lanes = 1, .piece = 4096, .reason = ""},
          .low_latency = low_latency};
}

// Tells all ranks to stop as soon as one of them says why, as a communicator does.
void run_and_stop_all(World& world, int ranks) {
  std::atomic<bool> done{false};  // partner: the watcher
  std::thread watcher([&] {
    while (!done.load()) {
      bool failed = false;
      for (int rank = 0; rank < ranks; ++rank)
        failed = failed || std::atomic_ref(world.report(rank).complete).load() != 0;
      for (int rank = 0; failed && rank < ranks; ++rank)
        std::atomic_ref(world.report(rank).abort).store(1);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  const auto result = world.run();
  done.store(true);
  watcher.join();
  EXPECT_TRUE(result.ok()) << result.status().message();
}

class Protocols : public testing::TestWithParam<bool> {};

TEST_P(Protocols, AnotherCallIsNoticedAndNamed) {
  World world(ring_of(600, GetParam()));
  world.change_tag(1);
  run_and_stop_all(world, 3);
  int told = 0;
  for (int rank = 0; rank < 3; ++rank) {
    const DeviceReport& report = world.report(rank);
    ASSERT_EQ(report.complete, 1U) << "rank " << rank << " neither ended nor was stopped";
    if (report.failure != static_cast<uint32_t>(DeviceFailure::kWrongTag)) continue;
    ++told;
    EXPECT_EQ(report.found ^ report.expected, 1U);
  }
  EXPECT_GE(told, 1);
}

TEST_P(Protocols, AKernelWhosePeersNeverComeStopsWhenItIsTold) {
  World world(ring_of(600, GetParam()));
  for (int rank = 0; rank < 3; ++rank) world.report(rank).abort = 1;
  run_and_stop_all(world, 3);
  int stopped = 0;
  for (int rank = 0; rank < 3; ++rank)
    stopped += world.report(rank).failure == static_cast<uint32_t>(DeviceFailure::kAborted);
  // Who needs to wait for nobody may be done before it looks.
  EXPECT_GE(stopped, 1);
}

std::string protocol_name(const testing::TestParamInfo<bool>& low_latency) {
  return low_latency.param ? "LowLatency" : "Bulk";
}

INSTANTIATE_TEST_SUITE_P(Both, Protocols, testing::Bool(), protocol_name);

TEST(LowLatency, SmallMessagesCarryTheirOwnFlags) {
  World small(ring_of(600, true));
  ASSERT_TRUE(small.run().ok());
  EXPECT_GT(small.flagged_lines(), 0U);
  World large(ring_of(3 * 4096, true));
  ASSERT_TRUE(large.run().ok());
  EXPECT_EQ(large.flagged_lines(), 0U);
}

}  // namespace
}  // namespace strait::test
