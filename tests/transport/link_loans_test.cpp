// Messages that are lent, over every transport that lends: read where they lie, given back, and let
// go of when the link fails.
#include <gmock/gmock.h>

#include <cstring>

#include "base/segments.hpp"
#include "transport/link_contract.hpp"

namespace strait::test {
namespace {

using testing::HasSubstr;

constexpr LinkSpec kSpec{.source = 0, .destination = 1, .lane = 0, .slots = 3, .slot_bytes = 100};
constexpr size_t kBytes = 10'000;  // more than a slot

// Memory that other processes can map, as ncclMemAlloc gives it.
class Segment {
 public:
  Segment() { allocate(); }
  ~Segment() {
    if (begin_ != nullptr) free();
  }
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  void allocate() {
    auto memory = SharedMemory::create("test", kBytes);
    ASSERT_TRUE(memory.ok()) << memory.status().message();
    begin_ = Segments::instance().add(std::move(*memory));
  }
  void free() { EXPECT_TRUE(Segments::instance().remove(std::exchange(begin_, nullptr))); }
  std::span<std::byte> bytes() const { return {begin_, kBytes}; }
  void fill(int value) const { std::memset(begin_, value, kBytes); }

 private:
  std::byte* begin_ = nullptr;
};

class LinkLoans : public LinkContract {
 protected:
  void SetUp() override { ASSERT_TRUE(links_.send->reaches(segment_.bytes())); }
  // Lends the whole segment; returns the message's number.
  uint64_t lend(uint32_t tag) {
    EXPECT_FALSE(links_.send->send_slot().empty());
    return links_.send->lend(segment_.bytes(), tag);
  }
  Message receive() {
    Message message;
    EXPECT_TRUE(one_.wait_for([&] { return !(message = links_.recv->recv_slot()).bytes.empty(); }));
    return message;
  }

  Segment segment_;
  LinkPair links_ = open_pair(zero_, one_, kSpec);
};

// All but TCP and what wraps it.
std::vector<TransportKind> kinds_that_lend() {
  std::vector<TransportKind> kinds = transport_kinds();
  std::erase_if(kinds, [](const auto& kind) {
    return kind.name.starts_with("tcp") || kind.name.starts_with("verbs") ||
           kind.name.starts_with("ucx");
  });
  return kinds;
}

TEST_P(LinkLoans, AreReadWhereTheyLie) {
  segment_.fill(1);
  const uint64_t number = lend(77);
  EXPECT_EQ(number, 1U);
  const Message message = receive();
  ASSERT_EQ(message.bytes.size(), kBytes);
  EXPECT_EQ(message.tag, 77U);
  EXPECT_EQ(message.bytes[kBytes - 1], std::byte{1});
  segment_.fill(2);
  EXPECT_EQ(message.bytes[0], std::byte{2}) << "it was copied";
  EXPECT_FALSE(links_.send->returned(number));
  ASSERT_TRUE(links_.recv->pin());
  links_.recv->release();
  EXPECT_TRUE(zero_.wait_for([&] { return links_.send->returned(number); }));
  EXPECT_FALSE(links_.send->is_read());
}

TEST_P(LinkLoans, KeepTheirOrderAmongMessagesInSlots) {
  for (uint32_t number = 1; number <= 30; ++number) {
    if (number % 3 == 0) {
      segment_.fill(static_cast<int>(number));
      const uint64_t lent = lend(number);
      EXPECT_EQ(lent, number);
      const Message message = receive();
      EXPECT_EQ(message.tag, number);
      EXPECT_EQ(message.bytes[99], static_cast<std::byte>(number));
      links_.recv->release();
      EXPECT_TRUE(zero_.wait_for([&] { return links_.send->returned(lent); }));
    } else {
      ASSERT_TRUE(send_numbered(zero_, *links_.send, number, 100));
      ASSERT_TRUE(receive_numbered(one_, *links_.recv, number, 100));
    }
  }
}

TEST_P(LinkLoans, WhoReadsIsWaitedForWhenTheLinkFails) {
  lend(1);
  receive();
  EXPECT_FALSE(links_.send->is_read()) << "nobody has begun";
  ASSERT_TRUE(links_.recv->pin());
  links_.send->abort(error(Code::kInternalError, "enough"));
  EXPECT_TRUE(links_.send->is_read());
  links_.recv->unpin();
  EXPECT_FALSE(links_.send->is_read());
  EXPECT_FALSE(links_.recv->pin()) << "begins to read memory that may be gone";
  EXPECT_FALSE(links_.send->is_read());
  EXPECT_THAT(links_.recv->status().message(), HasSubstr("enough"));
}

TEST_P(LinkLoans, OfAReaderThatLeftAreNoLongerRead) {
  lend(1);
  receive();
  ASSERT_TRUE(links_.recv->pin());
  links_.recv.reset();
  EXPECT_TRUE(zero_.wait_for([&] { return !links_.send->status().ok(); }));
  EXPECT_FALSE(links_.send->is_read());
  EXPECT_FALSE(links_.send->returned(1));
}

TEST_P(LinkLoans, FindMemoryThatTookThePlaceOfOther) {
  for (int round = 1; round <= 5; ++round) {
    segment_.fill(round);
    const uint64_t lent = lend(1);
    EXPECT_EQ(receive().bytes[kBytes / 2], static_cast<std::byte>(round));
    links_.recv->release();
    EXPECT_TRUE(zero_.wait_for([&] { return links_.send->returned(lent); }));
    segment_.free();
    segment_.allocate();  // mostly at the same address
  }
}

INSTANTIATE_TEST_SUITE_P(Transports, LinkLoans, testing::ValuesIn(kinds_that_lend()),
                         [](const auto& kind) { return kind.param.name; });

const TransportKind& shm() {
  return *std::ranges::find(transport_kinds(), std::string("shm"), &TransportKind::name);
}

TEST(ShmLoans, AreMadeOfSegmentsOnly) {
  TestRank zero{shm().open, 0};
  TestRank one{shm().open, 1};
  const LinkPair links = open_pair(zero, one, kSpec);
  const Segment segment;
  EXPECT_TRUE(links.send->reaches(segment.bytes()));
  EXPECT_TRUE(links.send->reaches(segment.bytes().last(1)));
  EXPECT_FALSE(links.send->reaches({segment.bytes().data() + 1, kBytes})) << "reaches its end";
  const std::vector<std::byte> own(100);
  EXPECT_FALSE(links.send->reaches(own));
}

TEST(ShmLoans, OfFreedMemoryFailTheLink) {
  TestRank zero{shm().open, 0};
  TestRank one{shm().open, 1};
  const LinkPair links = open_pair(zero, one, kSpec);
  Segment segment;
  ASSERT_FALSE(links.send->send_slot().empty());
  links.send->lend(segment.bytes(), 1);
  segment.free();
  EXPECT_TRUE(one.wait_for([&] {
    EXPECT_TRUE(links.recv->recv_slot().bytes.empty());
    return !links.recv->status().ok();
  }));
  EXPECT_THAT(links.recv->status().message(), HasSubstr("rank 0"));
}

TEST(ShmLoans, GivePagesBackThoughAPeerHasThemMapped) {
  TestRank zero{shm().open, 0};
  TestRank one{shm().open, 1};
  const LinkPair links = open_pair(zero, one, kSpec);
  Segment segment;
  segment.fill(9);
  ASSERT_FALSE(links.send->send_slot().empty());
  links.send->lend(segment.bytes(), 1);
  Message message;
  EXPECT_TRUE(one.wait_for([&] { return !(message = links.recv->recv_slot()).bytes.empty(); }));
  EXPECT_EQ(message.bytes[0], std::byte{9});
  segment.free();
  EXPECT_EQ(message.bytes[0], std::byte{0}) << "still mapped, but emptied";
}

}  // namespace
}  // namespace strait::test
