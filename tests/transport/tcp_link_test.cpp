// What is TCP's own: several connections, kernel buffers, peers and bytes that cannot be trusted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstring>
#include <thread>

#include "transport/net/dial.hpp"
#include "transport/net/frame.hpp"
#include "transport/tcp/tcp.hpp"
#include "transport/test_ranks.hpp"

namespace strait::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr LinkSpec kSpec{.source = 0, .destination = 1, .lane = 0, .slots = 3, .slot_bytes = 4096};

OpenTransport tcp_with(const std::string& name, const std::string& value) {
  return [=](TransportContext context) -> Result<std::unique_ptr<Transport>> {
    STRAIT_TRY(context.config.set("SOCKET_IFNAME", "lo"));
    STRAIT_TRY(context.config.set(name, value));
    return open_tcp(context);
  };
}

class TcpLink : public ::testing::Test {
 protected:
  // A peer that speaks the handshake and then whatever the test likes.
  net::Stream dial_as_zero(const net::LinkNote& note) {
    net::Destination destination{
        .candidates = {*net::Address::parse(first_address(one_.transport().address()))},
        .service = {one_.context().comm_key, net::Service::kLink, 1},
        .from = 0,
        .note = {}};
    std::memcpy(destination.note.data(), &note, sizeof note);
    auto connection = net::dial(destination, one_.context().secret, soon());
    EXPECT_TRUE(connection.ok()) << connection.status().message();
    return std::move(connection->fd);
  }

  static std::string first_address(const std::string& all) { return all.substr(0, all.find(", ")); }

  static net::LinkNote note_of(const LinkSpec& spec) {
    return {.lane = static_cast<uint32_t>(spec.lane),
            .slots = spec.slots,
            .slot_bytes = spec.slot_bytes,
            .count = 1};
  }

  Status status_after(const std::vector<std::byte>& bytes) {
    const net::Stream fd = dial_as_zero(note_of(kSpec));
    auto recv = one_.transport().accept("", kSpec, soon());
    EXPECT_TRUE(recv.ok()) << recv.status().message();
    EXPECT_EQ(send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    EXPECT_TRUE(one_.wait_for([&] {
      (*recv)->recv_slot();
      return !(*recv)->status().ok();
    }));
    return (*recv)->status();
  }

  static std::vector<std::byte> header_bytes(const net::FrameHeader& header) {
    std::vector<std::byte> bytes(sizeof header);
    std::memcpy(bytes.data(), &header, sizeof header);
    return bytes;
  }

  TestRank zero_{tcp_with("SOCKETS", "1"), 0};
  TestRank one_{tcp_with("SOCKETS", "1"), 1};
};

class TcpSockets : public ::testing::TestWithParam<int> {};

TEST_P(TcpSockets, MessagesKeepTheirOrderOverSeveralConnections) {
  const auto open = tcp_with("SOCKETS", std::to_string(GetParam()));
  TestRank zero(open, 0);
  TestRank one(open, 1);
  for (const uint32_t slots : {1u, 2u, 3u, 5u}) {
    LinkSpec spec = kSpec;
    spec.slots = slots;
    spec.lane = static_cast<int>(slots);
    LinkPair pair = open_pair(zero, one, spec);
    std::thread sender([&] {
      for (uint32_t i = 0; i < 2000; ++i)
        ASSERT_TRUE(send_numbered(zero, *pair.send, i, 1 + i * 37 % 4096));
    });
    bool same = true;
    for (uint32_t i = 0; i < 2000 && same; ++i)
      EXPECT_TRUE(same = receive_numbered(one, *pair.recv, i, 1 + i * 37 % 4096)) << i;
    sender.join();
    pair.send.reset();
    EXPECT_TRUE(one.wait_for([&] { return !pair.recv->status().ok(); }));
    EXPECT_THAT(pair.recv->status().message(), HasSubstr("rank 0 closed the connection"));
  }
}

INSTANTIATE_TEST_SUITE_P(Counts, TcpSockets, ::testing::Values(2, 3, 4));

// The kernel's buffers hold more than the slots, but not without end.
TEST_F(TcpLink, FullBuffersBlockTheSenderUntilRelease) {
  LinkSpec spec = kSpec;
  spec.slot_bytes = 1 << 20;
  LinkPair pair = open_pair(zero_, one_, spec);
  uint32_t sent = 0;
  for (Deadline patience = soon(); !patience.passed() && sent < 200;) {
    if (pair.send->send_slot().empty()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      continue;
    }
    pair.send->commit(spec.slot_bytes, sent++);
    patience = Deadline::after_ms(300);
  }
  EXPECT_GE(sent, 3u);
  EXPECT_LT(sent, 100u);
  for (uint32_t i = 0; i < sent; ++i) {
    Message message;
    ASSERT_TRUE(one_.wait_for([&] { return !(message = pair.recv->recv_slot()).bytes.empty(); }));
    EXPECT_EQ(message.tag, i);
    pair.recv->release();
  }
  EXPECT_TRUE(zero_.wait_for([&] { return !pair.send->send_slot().empty(); }));
}

TEST_F(TcpLink, AbortAmidALargeMessageStillTellsWhy) {
  LinkSpec spec = kSpec;
  spec.slot_bytes = 32 << 20;  // more than the kernel takes at once
  LinkPair pair = open_pair(zero_, one_, spec);
  for (int i = 0; i < 2; ++i) {
    ASSERT_FALSE(pair.send->send_slot().empty());
    pair.send->commit(spec.slot_bytes, 0);
  }
  pair.send->abort(error(Code::kInternalError, "the plan has changed"));
  ASSERT_TRUE(one_.wait_for([&] {
    if (!pair.recv->recv_slot().bytes.empty()) pair.recv->release();
    return !pair.recv->status().ok();
  }));
  EXPECT_THAT(pair.recv->status().message(), HasSubstr("rank 0: the plan has changed"));
}

TEST_F(TcpLink, FramesThatCannotBeAreRefused) {
  using net::FrameHeader;
  using net::FrameKind;
  const FrameHeader good{.kind = FrameKind::kMessage, .bytes = 8, .tag = 0, .sequence = 0};
  FrameHeader long_one = good;
  long_one.bytes = 4097;
  FrameHeader empty = good;
  empty.bytes = 0;
  FrameHeader early = good;
  early.sequence = 1;
  FrameHeader strange = good;
  strange.kind = static_cast<FrameKind>(7);
  FrameHeader long_reason = good;
  long_reason.kind = FrameKind::kReason;
  long_reason.bytes = 1 << 30;
  for (const FrameHeader& header : {long_one, empty, early, strange, long_reason}) {
    const Status status = status_after(header_bytes(header));
    EXPECT_EQ(status.code(), Code::kRemoteError);
    EXPECT_THAT(status.message(), HasSubstr("rank 0 sent what is no frame of this link"));
  }
}

TEST_F(TcpLink, GarbageAfterAGoodMessageFailsOnlyThen) {
  std::vector<std::byte> bytes = header_bytes({.bytes = 8});
  bytes.resize(bytes.size() + 8 + 100, std::byte{0x5a});
  const net::Stream fd = dial_as_zero(note_of(kSpec));
  auto recv = one_.transport().accept("", kSpec, soon());
  ASSERT_TRUE(recv.ok());
  ASSERT_GT(send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), 0);
  EXPECT_TRUE(one_.wait_for([&] {
    if (!(*recv)->recv_slot().bytes.empty()) (*recv)->release();
    return !(*recv)->status().ok();
  }));
  EXPECT_THAT((*recv)->status().message(), HasSubstr("no frame of this link"));
}

TEST_F(TcpLink, CutInTheMiddleOfAMessageIsNoEnd) {
  std::vector<std::byte> bytes = header_bytes({.bytes = 100});
  bytes.resize(bytes.size() + 10);
  net::Stream fd = dial_as_zero(note_of(kSpec));
  auto recv = one_.transport().accept("", kSpec, soon());
  ASSERT_TRUE(recv.ok());
  ASSERT_GT(send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), 0);
  fd.reset();
  EXPECT_TRUE(one_.wait_for([&] { return !(*recv)->status().ok(); }));
  EXPECT_THAT((*recv)->status().message(),
              AllOf(HasSubstr("rank 0 closed"), HasSubstr("in the middle of a message")));
  EXPECT_TRUE((*recv)->recv_slot().bytes.empty());
}

TEST_F(TcpLink, NonsenseNotesAreDropped) {
  net::LinkNote note = note_of(kSpec);
  note.count = 60'000;
  dial_as_zero(note);
  note.count = 2;
  note.index = 2;
  dial_as_zero(note);
  EXPECT_FALSE(one_.transport().accept("", kSpec, Deadline::after_ms(200)).ok());
}

TEST_F(TcpLink, DifferentSlotsAreToldToTheSenderToo) {
  auto sender = zero_.transport().connect(one_.transport().address(), kSpec, soon());
  ASSERT_TRUE(sender.ok());
  LinkSpec other = kSpec;
  other.slots = 9;
  EXPECT_FALSE(one_.transport().accept("", other, soon()).ok());
  ASSERT_TRUE(zero_.wait_for([&] { return !(*sender)->status().ok(); }));
  EXPECT_THAT((*sender)->status().message(),
              AllOf(HasSubstr("rank 1"), HasSubstr("3 slots"), HasSubstr("expects 9")));
}

TEST_F(TcpLink, OtherLaneIsNamedOnBothEnds) {
  LinkSpec other = kSpec;
  other.lane = 4;
  auto sender = zero_.transport().connect(one_.transport().address(), other, soon());
  ASSERT_TRUE(sender.ok());
  const auto recv = one_.transport().accept("", kSpec, Deadline::after_ms(300));
  ASSERT_FALSE(recv.ok());
  EXPECT_THAT(recv.status().message(),
              AllOf(HasSubstr("did not open link 0->1 lane 0"), HasSubstr("it opened lane 4")));
  one_.drop_transport();
  ASSERT_TRUE(zero_.wait_for([&] { return !(*sender)->status().ok(); }));
  EXPECT_THAT((*sender)->status().message(), HasSubstr("before it accepted link 0->1 lane 4"));
}

TEST_F(TcpLink, Ipv6CarriesALink) {
  const auto open = tcp_with("SOCKET_FAMILY", "AF_INET6");
  TransportContext elsewhere = zero_.context();
  elsewhere.comm_key = 5;
  if (const auto probe = open(elsewhere); !probe.ok())
    GTEST_SKIP() << "no IPv6 here: " << probe.status().message();
  TestRank zero(open, 0, 6);
  TestRank one(open, 1, 6);
  EXPECT_THAT(one.transport().address(), HasSubstr("[::1]:"));
  LinkPair pair = open_pair(zero, one, kSpec);
  ASSERT_TRUE(send_numbered(zero, *pair.send, 1, 4096));
  EXPECT_TRUE(receive_numbered(one, *pair.recv, 1, 4096));
}

}  // namespace
}  // namespace strait::test
