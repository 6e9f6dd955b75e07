// What links promise when something is wrong: who learns it, how soon, in which words.
#include <gmock/gmock.h>

#include <thread>

#include "transport/link_contract.hpp"

namespace strait::test {
namespace {

using testing::HasSubstr;

constexpr LinkSpec kSpec{.source = 0, .destination = 1, .lane = 0, .slots = 2, .slot_bytes = 64};

Status reason() {
  return error(Code::kInternalError, "the cat sat on the cable");
}

TEST_P(LinkContract, AbortBySenderReachesTheReceiver) {
  LinkPair pair = open_pair(zero_, one_, kSpec);
  std::thread aborter([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    pair.send->abort(reason());
    pair.send->abort(error(Code::kSystemError, "a later reason"));
  });
  ASSERT_TRUE(one_.wait_for([&] { return !pair.recv->status().ok(); }));
  aborter.join();
  EXPECT_THAT(pair.recv->status().message(), HasSubstr("the cat sat on the cable"));
  EXPECT_THAT(pair.recv->status().message(), HasSubstr("rank 0"));
  EXPECT_THAT(pair.send->status().message(), HasSubstr("the cat sat on the cable"));
  EXPECT_TRUE(pair.recv->recv_slot().bytes.empty());
  EXPECT_TRUE(pair.send->send_slot().empty());
}

TEST_P(LinkContract, AbortByReceiverReachesTheSender) {
  LinkPair pair = open_pair(zero_, one_, kSpec);
  std::thread aborter([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    pair.recv->abort(reason());
  });
  ASSERT_TRUE(zero_.wait_for([&] { return !pair.send->status().ok(); }));
  aborter.join();
  EXPECT_THAT(pair.send->status().message(), HasSubstr("the cat sat on the cable"));
  EXPECT_THAT(pair.send->status().message(), HasSubstr("rank 1"));
  EXPECT_EQ(pair.recv->status().code(), Code::kInternalError);
}

TEST_P(LinkContract, AbortWakesItsOwnSide) {
  LinkPair pair = open_pair(zero_, one_, kSpec);
  std::thread aborter([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    pair.recv->abort(reason());
  });
  EXPECT_TRUE(one_.wait_for([&] { return !pair.recv->status().ok(); }));
  aborter.join();
}

TEST_P(LinkContract, LongReasonsAreCutNotLost) {
  LinkPair pair = open_pair(zero_, one_, kSpec);
  pair.send->abort(error(Code::kInternalError, "why: {}", std::string(5000, 'x')));
  ASSERT_TRUE(one_.wait_for([&] { return !pair.recv->status().ok(); }));
  EXPECT_THAT(pair.recv->status().message(), HasSubstr("why: xxxx"));
}

TEST_P(LinkContract, SenderThatClosesIsReadToTheEnd) {
  LinkPair pair = open_pair(zero_, one_, kSpec);
  ASSERT_TRUE(send_numbered(zero_, *pair.send, 1, 30));
  ASSERT_TRUE(send_numbered(zero_, *pair.send, 2, 40));
  const Deadline deadline = soon();
  while (!pair.send->flushed() && !deadline.passed()) std::this_thread::yield();
  pair.send.reset();
  EXPECT_TRUE(receive_numbered(one_, *pair.recv, 1, 30));
  EXPECT_TRUE(receive_numbered(one_, *pair.recv, 2, 40));
  ASSERT_TRUE(one_.wait_for([&] { return !pair.recv->status().ok(); }));
  EXPECT_THAT(pair.recv->status().message(), HasSubstr("rank 0 closed"));
}

TEST_P(LinkContract, ReceiverThatClosesFailsTheSender) {
  LinkPair pair = open_pair(zero_, one_, kSpec);
  ASSERT_TRUE(send_numbered(zero_, *pair.send, 1, 30));
  std::thread closer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    pair.recv.reset();
  });
  EXPECT_TRUE(zero_.wait_for([&] { return !pair.send->status().ok(); }));
  closer.join();
  EXPECT_THAT(pair.send->status().message(), HasSubstr("rank 1 closed"));
  EXPECT_TRUE(pair.send->send_slot().empty());
}

TEST_P(LinkContract, CommitAfterFailureIsHarmless) {
  LinkPair pair = open_pair(zero_, one_, kSpec);
  ASSERT_FALSE(pair.send->send_slot().empty());
  pair.recv->abort(reason());
  pair.recv.reset();
  pair.send->commit(1, 1);
  EXPECT_TRUE(zero_.wait_for([&] { return !pair.send->status().ok(); }));
}

TEST_P(LinkContract, DoesNotReachNonsense) {
  for (const std::string& address : {std::string(), std::string("nowhere"), std::string(3000, 'a'),
                                     std::string("\0\xff\0garbage", 10)}) {
    const Status status = zero_.transport().reach(1, address, Deadline::after_ms(500));
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(status.message(), HasSubstr("rank 1"));
  }
}

TEST_P(LinkContract, DoesNotReachAnotherSecretOrCommunicator) {
  TestRank other_secret(open(), 1, 1000, 9);
  TestRank same_key(open(), 0, 1000, 1);
  TestRank other_comm(open(), 1, 1001, 1);
  for (TestRank* stranger : {&other_secret, &other_comm}) {
    const Status status =
        same_key.transport().reach(1, stranger->transport().address(), Deadline::after_ms(2000));
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(status.message(), HasSubstr("rank 1"));
    const auto link = same_key.transport().connect(stranger->transport().address(), kSpec,
                                                   Deadline::after_ms(2000));
    EXPECT_FALSE(link.ok());
  }
}

TEST_P(LinkContract, DoesNotReachARankThatLeft) {
  const std::string address = one_.transport().address();
  one_.drop_transport();
  EXPECT_FALSE(zero_.transport().reach(1, address, Deadline::after_ms(2000)).ok());
}

TEST_P(LinkContract, AcceptEndsAtItsDeadline) {
  const LinkSpec spec{.source = 0, .destination = 1, .lane = 3, .slots = 2, .slot_bytes = 64};
  const int64_t start_ns = now_ns();
  const auto link =
      one_.transport().accept(zero_.transport().address(), spec, Deadline::after_ms(100));
  EXPECT_LT(now_ns() - start_ns, 5'000'000'000);
  ASSERT_FALSE(link.ok());
  EXPECT_EQ(link.status().code(), Code::kTimeout);
  EXPECT_THAT(link.status().message(), HasSubstr("rank 0 did not open link 0->1 lane 3 within 1"));
}

TEST_P(LinkContract, AcceptMayComeBeforeConnect) {
  std::unique_ptr<RecvLink> recv;
  std::thread acceptor([&] {
    auto link = one_.transport().accept(zero_.transport().address(), kSpec, soon());
    ASSERT_TRUE(link.ok()) << link.status().message();
    recv = std::move(*link);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  auto send = zero_.transport().connect(one_.transport().address(), kSpec, soon());
  ASSERT_TRUE(send.ok()) << send.status().message();
  acceptor.join();
  ASSERT_TRUE(send_numbered(zero_, **send, 1, 64));
  EXPECT_TRUE(receive_numbered(one_, *recv, 1, 64));
}

TEST_P(LinkContract, MessagesSentBeforeAcceptArrive) {
  auto send = zero_.transport().connect(one_.transport().address(), kSpec, soon());
  ASSERT_TRUE(send.ok()) << send.status().message();
  ASSERT_TRUE(send_numbered(zero_, **send, 1, 64));
  ASSERT_TRUE(send_numbered(zero_, **send, 2, 64));
  auto recv = one_.transport().accept(zero_.transport().address(), kSpec, soon());
  ASSERT_TRUE(recv.ok()) << recv.status().message();
  EXPECT_TRUE(receive_numbered(one_, **recv, 1, 64));
  EXPECT_TRUE(receive_numbered(one_, **recv, 2, 64));
}

TEST_P(LinkContract, DifferentSlotsAreTold) {
  auto send = zero_.transport().connect(one_.transport().address(), kSpec, soon());
  ASSERT_TRUE(send.ok()) << send.status().message();
  LinkSpec other = kSpec;
  other.slot_bytes = 4096;
  const auto recv =
      one_.transport().accept(zero_.transport().address(), other, Deadline::after_ms(2000));
  ASSERT_FALSE(recv.ok());
  EXPECT_THAT(recv.status().message(), HasSubstr("STRAIT_SLOT"));
}

TEST_P(LinkContract, CommunicatorsDoNotMix) {
  TestRank other_zero(open(), 0, 2);
  TestRank other_one(open(), 1, 2);
  LinkPair pair = open_pair(zero_, one_, kSpec);
  LinkPair other = open_pair(other_zero, other_one, kSpec);
  ASSERT_TRUE(send_numbered(other_zero, *other.send, 77, 11));
  ASSERT_TRUE(send_numbered(zero_, *pair.send, 66, 22));
  EXPECT_TRUE(receive_numbered(one_, *pair.recv, 66, 22));
  EXPECT_TRUE(receive_numbered(other_one, *other.recv, 77, 11));
}

TEST_P(LinkContract, LanesDoNotMix) {
  LinkSpec second = kSpec;
  second.lane = 1;
  LinkPair pair = open_pair(zero_, one_, kSpec);
  LinkPair other = open_pair(zero_, one_, second);
  ASSERT_TRUE(send_numbered(zero_, *other.send, 2, 20));
  ASSERT_TRUE(send_numbered(zero_, *pair.send, 1, 10));
  EXPECT_TRUE(receive_numbered(one_, *pair.recv, 1, 10));
  EXPECT_TRUE(receive_numbered(one_, *other.recv, 2, 20));
}

TEST_P(LinkContract, MisuseIsABug) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  LinkPair pair = open_pair(zero_, one_, kSpec);
  ASSERT_FALSE(pair.send->send_slot().empty());
  EXPECT_DEATH(pair.send->commit(0, 1), "bug");
  EXPECT_DEATH(pair.send->commit(65, 1), "bug");
  pair.send->commit(64, 1);
  EXPECT_DEATH(pair.send->commit(64, 1), "bug");
  EXPECT_DEATH(pair.recv->release(); pair.recv->release(), "bug");
}

}  // namespace
}  // namespace strait::test
