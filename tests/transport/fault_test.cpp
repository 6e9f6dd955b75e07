// Each fault does what its word says, and the same each time.
#include "transport/fault/fault.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <thread>

#include "transport/inproc/inproc.hpp"
#include "transport/test_ranks.hpp"

namespace strait::test {
namespace {

using testing::HasSubstr;

constexpr LinkSpec kSpec{.source = 0, .destination = 1, .lane = 0, .slots = 4, .slot_bytes = 64};

TEST(FaultSpec, ReadsEveryKey) {
  const auto spec = parse_fault("seed=7,delay_us=100,stall_after=10,cut_after=50,corrupt_after=0");
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  EXPECT_EQ(
      *spec,
      (FaultSpec{
          .seed = 7, .delay_us = 100, .stall_after = 10, .cut_after = 50, .corrupt_after = 0}));
}

TEST(FaultSpec, RefusesTheRestAndListsTheKeys) {
  for (const char* text : {"", "seed", "seed=", "seed=x", "seed=-1", "delay=5", "seed=1,",
                           ",seed=1", "seed=1 ", "cut_after=99999999999999999999"}) {
    const auto spec = parse_fault(text);
    ASSERT_FALSE(spec.ok()) << text;
    EXPECT_EQ(spec.status().code(), Code::kInvalidArgument);
    for (const char* key : {"seed", "delay_us", "stall_after", "cut_after", "corrupt_after"})
      EXPECT_THAT(spec.status().message(), HasSubstr(key));
  }
}

struct Faulty {
  explicit Faulty(const std::string& spec)
      : zero(faulty(open_inproc, spec), 0), one(faulty(open_inproc, spec), 1) {}
  TestRank zero;
  TestRank one;
  LinkPair pair = open_pair(zero, one, kSpec);

  // The bytes of one message of 64 zero bytes, at the far end.
  std::vector<std::byte> pass_zeros() {
    std::span<std::byte> slot;
    if (!zero.wait_for([&] { return !(slot = pair.send->send_slot()).empty(); })) return {};
    std::fill(slot.begin(), slot.end(), std::byte{0});
    pair.send->commit(64, 0);
    Message message;
    if (!one.wait_for([&] { return !(message = pair.recv->recv_slot()).bytes.empty(); })) return {};
    std::vector<std::byte> bytes(message.bytes.begin(), message.bytes.end());
    pair.recv->release();
    return bytes;
  }
};

TEST(Fault, CutFailsBothEndsAfterSoManyMessages) {
  Faulty link("cut_after=3");
  for (uint32_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(send_numbered(link.zero, *link.pair.send, i, 10));
    ASSERT_TRUE(receive_numbered(link.one, *link.pair.recv, i, 10));
  }
  ASSERT_TRUE(send_numbered(link.zero, *link.pair.send, 3, 10));
  ASSERT_TRUE(link.one.wait_for([&] { return !link.pair.recv->status().ok(); }));
  EXPECT_THAT(link.pair.recv->status().message(), HasSubstr("cut after 3 messages"));
  EXPECT_THAT(link.pair.send->status().message(), HasSubstr("link 0->1 lane 0"));
}

TEST(Fault, StallDeliversNoMoreAndNeverFails) {
  Faulty link("stall_after=2");
  for (uint32_t i = 0; i < 2; ++i) {
    ASSERT_TRUE(send_numbered(link.zero, *link.pair.send, i, 10));
    EXPECT_TRUE(receive_numbered(link.one, *link.pair.recv, i, 10));
  }
  for (uint32_t i = 0; i < kSpec.slots; ++i)
    ASSERT_TRUE(send_numbered(link.zero, *link.pair.send, 2 + i, 10));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_TRUE(link.pair.recv->recv_slot().bytes.empty());
  EXPECT_TRUE(link.pair.send->send_slot().empty());
  EXPECT_TRUE(link.pair.send->status().ok());
  EXPECT_FALSE(link.pair.send->flushed());
}

TEST(Fault, CorruptFlipsOneBitOfOneMessage) {
  const std::vector<std::byte> zeros(64);
  std::vector<std::vector<std::byte>> runs;
  for (const char* spec : {"seed=5,corrupt_after=2", "seed=5,corrupt_after=2"}) {
    Faulty link(spec);
    EXPECT_EQ(link.pass_zeros(), zeros);
    EXPECT_EQ(link.pass_zeros(), zeros);
    runs.push_back(link.pass_zeros());
    EXPECT_EQ(link.pass_zeros(), zeros);
  }
  int bits = 0;
  for (const std::byte byte : runs[0]) bits += std::popcount(static_cast<unsigned>(byte));
  EXPECT_EQ(bits, 1);
  EXPECT_EQ(runs[0], runs[1]);
}

TEST(Fault, DelayIsFeltButOrderStays) {
  Faulty link("delay_us=2000");
  const int64_t start_ns = now_ns();
  std::thread sender([&] {
    for (uint32_t i = 0; i < 40; ++i) ASSERT_TRUE(send_numbered(link.zero, *link.pair.send, i, 10));
  });
  for (uint32_t i = 0; i < 40; ++i) ASSERT_TRUE(receive_numbered(link.one, *link.pair.recv, i, 10));
  sender.join();
  EXPECT_GE(now_ns() - start_ns, 5'000'000);
}

}  // namespace
}  // namespace strait::test
