// The ring against a hostile other side: whatever stands in shared memory gives an error, never an
// access out of range.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "transport/ring/ring_link.hpp"

namespace strait {
namespace {

using testing::HasSubstr;

constexpr LinkSpec kSpec{.source = 4, .destination = 7, .lane = 1, .slots = 3, .slot_bytes = 100};

class Ring : public testing::Test {
 protected:
  std::unique_ptr<SendLink> sender() {
    return make_ring_sender(std::make_shared<RingPort>(parts(), RingSide::kProducer));
  }
  std::unique_ptr<RecvLink> receiver() {
    return make_ring_receiver(std::make_shared<RingPort>(parts(), RingSide::kConsumer));
  }
  RingParts parts() const {
    return {kSpec, view_, nullptr, std::make_shared<Bell>(), std::make_shared<Bell>()};
  }

  struct alignas(kCacheLine) Line {
    std::byte bytes[kCacheLine];
  };
  std::vector<Line> memory_{*ring_bytes(kSpec) / kCacheLine + 1};
  RingView view_ = make_ring(memory_.front().bytes, kSpec);
};

TEST_F(Ring, HoldsItsSlotsApartAndInside) {
  const size_t bytes = *ring_bytes(kSpec);
  for (uint64_t i = 0; i < kSpec.slots; ++i) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(view_.slot(i)) % kCacheLine, 0u);
    EXPECT_LE(view_.slot(i) + kSpec.slot_bytes, memory_.front().bytes + bytes);
    EXPECT_GE(view_.slot(i), reinterpret_cast<std::byte*>(view_.slot_headers + kSpec.slots));
    if (i == 0) continue;
    EXPECT_GE(view_.slot(i), view_.slot(i - 1) + kSpec.slot_bytes);
  }
}

TEST_F(Ring, RefusesMoreThanAnyMemory) {
  LinkSpec huge = kSpec;
  huge.slots = 1u << 31;
  huge.slot_bytes = size_t{1} << 40;
  EXPECT_FALSE(ring_bytes(huge).ok());
}

TEST_F(Ring, IsCheckedWhenMapped) {
  EXPECT_TRUE(check_ring(memory_.front().bytes, kSpec).ok());
  LinkSpec other = kSpec;
  other.lane = 2;
  EXPECT_THAT(check_ring(memory_.front().bytes, other).message(), HasSubstr("answered by"));
  other = kSpec;
  other.slots = 4;
  EXPECT_THAT(check_ring(memory_.front().bytes, other).message(), HasSubstr("STRAIT_SLOTS"));
  view_.header->version = 99;
  EXPECT_THAT(check_ring(memory_.front().bytes, kSpec).message(), HasSubstr("same version"));
  std::memset(memory_.front().bytes, 0xa5, sizeof(RingHeader));
  EXPECT_FALSE(check_ring(memory_.front().bytes, kSpec).ok());
}

TEST_F(Ring, SenderRefusesAWildIndex) {
  const auto link = sender();
  for (uint32_t i = 0; i < kSpec.slots; ++i) ASSERT_FALSE(link->send_slot().empty());
  view_.header->released = 1'000'000;
  EXPECT_TRUE(link->send_slot().empty());
  EXPECT_THAT(link->status().message(), HasSubstr("rank 7 wrote nonsense"));
}

TEST_F(Ring, ReceiverRefusesAWildIndex) {
  const auto link = receiver();
  view_.header->committed = kSpec.slots + 1;
  EXPECT_TRUE(link->recv_slot().bytes.empty());
  EXPECT_THAT(link->status().message(), HasSubstr("rank 4 wrote nonsense"));
}

TEST_F(Ring, ReceiverRefusesAWildLength) {
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{kSpec.slot_bytes + 1}, ~uint64_t{0}}) {
    view_ = make_ring(memory_.front().bytes, kSpec);
    const auto link = receiver();
    view_.slot_header(0).bytes = bytes;
    view_.header->committed = 1;
    EXPECT_TRUE(link->recv_slot().bytes.empty());
    EXPECT_THAT(link->status().message(), HasSubstr("rank 4 wrote nonsense"));
  }
}

TEST_F(Ring, ReasonWithoutAnEndIsReadWithCare) {
  const auto link = receiver();
  view_.header->failure_text.fill('y');
  view_.header->failure = kFailed;
  EXPECT_THAT(link->status().message(), HasSubstr("yyyy"));
  EXPECT_LT(link->status().message().size(), 700u);
}

TEST_F(Ring, DeathInTheMiddleOfAFailureStillEndsTheLink) {
  const auto port = std::make_shared<RingPort>(parts(), RingSide::kConsumer);
  const auto link = make_ring_receiver(port);
  view_.slot_header(0).bytes = 5;
  view_.header->committed = 1;
  view_.header->failure = kWritingFailure;
  port->lose_peer(error(Code::kRemoteError, "rank 4 died"));
  EXPECT_TRUE(link->recv_slot().bytes.empty());
  EXPECT_THAT(link->status().message(), HasSubstr("rank 4 died"));
}

}  // namespace
}  // namespace strait
