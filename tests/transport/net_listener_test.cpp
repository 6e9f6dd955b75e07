#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <future>
#include <thread>

#include "transport/net/dial.hpp"
#include "transport/net/listener.hpp"
#include "transport/net/socket.hpp"

namespace strait::net {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr ServiceKey kDoor{.key = 77, .service = Service::kLink, .rank = 3};

Address loopback(uint16_t port) {
  return Address::parse("127.0.0.1:1")->with_port(port);
}

class ListenerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto listener = Listener::get("");
    ASSERT_TRUE(listener.ok()) << listener.status().message();
    listener_ = *listener;
    auto registration = listener_->serve(kDoor, secret_, [this](Caller caller) {
      std::lock_guard lock(mutex_);
      callers_.push_back(std::move(caller));
    });
    ASSERT_TRUE(registration.ok());
    registration_ = std::move(*registration);
  }

  Result<Connection> knock(const ServiceKey& door = kDoor) const {
    return dial(
        {.candidates = {loopback(listener_->port())}, .service = door, .from = 5, .note = note_},
        secret_, Deadline::after_ms(5'000));
  }

  size_t caller_count() {
    std::lock_guard lock(mutex_);
    return callers_.size();
  }
  bool callers_become(size_t count) {
    const Deadline deadline = Deadline::after_ms(3'000);
    while (caller_count() != count && !deadline.passed())
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return caller_count() == count;
  }

  UniqueFd connect_raw() const {
    UniqueFd fd(socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_storage storage;
    const socklen_t length = loopback(listener_->port()).to(&storage);
    EXPECT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&storage), length), 0);
    return fd;
  }
  // True when the listener closes the connection within the time.
  static bool closes(int fd, int within_ms) {
    const Deadline deadline = Deadline::after_ms(within_ms);
    char bytes[256];
    while (true) {
      pollfd entry{.fd = fd, .events = POLLIN, .revents = 0};
      if (poll(&entry, 1, deadline.left_ms()) <= 0) return false;
      if (recv(fd, bytes, sizeof bytes, 0) <= 0) return true;
    }
  }

  const std::vector<std::byte> secret_ = std::vector<std::byte>(32, std::byte{9});
  const Note note_{std::byte{1}, std::byte{2}};
  std::shared_ptr<Listener> listener_;
  std::mutex mutex_;
  std::vector<Caller> callers_;
  std::unique_ptr<Registration> registration_;
};

TEST_F(ListenerTest, CallerArrivesWithRankNoteAndKey) {
  auto connection = knock();
  ASSERT_TRUE(connection.ok()) << connection.status().message();
  const char words[] = "hello";
  ASSERT_EQ(send(connection->fd.get(), words, sizeof words, MSG_NOSIGNAL), ssize_t{sizeof words});
  ASSERT_TRUE(callers_become(1));
  EXPECT_EQ(callers_[0].rank, 5);
  EXPECT_EQ(callers_[0].note, note_);
  EXPECT_EQ(callers_[0].session, connection->session);
  EXPECT_EQ(callers_[0].remote, connection->local);
  pollfd entry{.fd = callers_[0].fd.get(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(poll(&entry, 1, 2'000), 1);
  char heard[16] = {};
  EXPECT_EQ(recv(callers_[0].fd.get(), heard, sizeof heard, 0), ssize_t{sizeof words});
  EXPECT_STREQ(heard, words);
}

TEST_F(ListenerTest, EveryConnectionHasItsOwnKey) {
  auto a = knock();
  auto b = knock();
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_NE(a->session, b->session);
}

TEST_F(ListenerTest, OnePortPerProcess) {
  EXPECT_EQ((*Listener::get(""))->port(), listener_->port());
}

TEST_F(ListenerTest, SameServiceTwiceIsRefused) {
  const auto second = listener_->serve(kDoor, secret_, [](Caller) {});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), Code::kInvalidUsage);
}

TEST_F(ListenerTest, OtherDoorsAreNotServed) {
  for (ServiceKey door : {ServiceKey{78, Service::kLink, 3}, ServiceKey{77, Service::kPing, 3},
                          ServiceKey{77, Service::kLink, 4}}) {
    const auto connection = knock(door);
    ASSERT_FALSE(connection.ok());
    EXPECT_EQ(connection.status().code(), Code::kRemoteError);
    EXPECT_THAT(connection.status().message(), HasSubstr("serves no such communicator"));
  }
  registration_.reset();
  EXPECT_FALSE(knock().ok());
}

TEST_F(ListenerTest, StrangersAreShownTheDoorAtOnce) {
  for (std::string_view words : {"GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01\x00\x05hello",
                                 "SSH-2.0-x\r\n", "rrrrrrrrrrrrrrrrrrrrrrr"}) {
    const UniqueFd fd = connect_raw();
    ASSERT_GT(send(fd.get(), words.data(), words.size(), MSG_NOSIGNAL), 0);
    EXPECT_TRUE(closes(fd.get(), 2'000)) << words;
  }
  EXPECT_TRUE(knock().ok());
}

TEST_F(ListenerTest, SilentStrangersAreClosedAtTheLimitAndHoldUpNobody) {
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 50; ++i) silent.push_back(connect_raw());
  const uint64_t half_magic = kMagic;
  ASSERT_EQ(send(silent[0].get(), &half_magic, 5, MSG_NOSIGNAL), 5);
  const int64_t start_ns = now_ns();
  EXPECT_TRUE(knock().ok());
  EXPECT_LT(now_ns() - start_ns, 1'000'000'000);
  EXPECT_TRUE(closes(silent[0].get(), 7'000));
  EXPECT_TRUE(closes(silent[49].get(), 1'000));
  EXPECT_GT(now_ns() - start_ns, 4'000'000'000);
}

TEST_F(ListenerTest, MagicWithoutTheSecretIsNotEnough) {
  const UniqueFd fd = connect_raw();
  Greeting greeting;
  greeting.service = kDoor.service;
  greeting.key = kDoor.key;
  greeting.to = kDoor.rank;
  ASSERT_EQ(send(fd.get(), &greeting, sizeof greeting, MSG_NOSIGNAL), ssize_t{sizeof greeting});
  Answer answer;
  ASSERT_EQ(recv(fd.get(), &answer, sizeof answer, MSG_WAITALL), ssize_t{sizeof answer});
  EXPECT_EQ(answer.verdict, Verdict::kGoOn);
  // The listener's own hash, sent back, proves nothing.
  const Proof proof{answer.hash};
  ASSERT_EQ(send(fd.get(), &proof, sizeof proof, MSG_NOSIGNAL), ssize_t{sizeof proof});
  EXPECT_TRUE(closes(fd.get(), 2'000));
  EXPECT_EQ(caller_count(), 0u);
}

TEST_F(ListenerTest, OtherVersionIsAnswered) {
  const UniqueFd fd = connect_raw();
  Greeting greeting;
  greeting.version = 99;
  ASSERT_EQ(send(fd.get(), &greeting, sizeof greeting, MSG_NOSIGNAL), ssize_t{sizeof greeting});
  Answer answer;
  ASSERT_EQ(recv(fd.get(), &answer, sizeof answer, MSG_WAITALL), ssize_t{sizeof answer});
  EXPECT_EQ(answer.verdict, Verdict::kOtherVersion);
}

TEST_F(ListenerTest, GreetingInSmallPiecesIsUnderstood) {
  const UniqueFd fd = connect_raw();
  Greeting greeting;
  greeting.service = kDoor.service;
  greeting.key = kDoor.key;
  greeting.to = kDoor.rank;
  const auto* bytes = reinterpret_cast<const char*>(&greeting);
  for (size_t i = 0; i < sizeof greeting; ++i)
    ASSERT_EQ(send(fd.get(), bytes + i, 1, MSG_NOSIGNAL), 1);
  Answer answer;
  ASSERT_EQ(recv(fd.get(), &answer, sizeof answer, MSG_WAITALL), ssize_t{sizeof answer});
  const Proof proof{handshake_hash(secret_, "caller", {greeting, answer.nonce})};
  ASSERT_EQ(send(fd.get(), &proof, sizeof proof, MSG_NOSIGNAL), ssize_t{sizeof proof});
  EXPECT_TRUE(callers_become(1));
}

TEST_F(ListenerTest, RegistrationThatEndsMidCallWaitsForIt) {
  std::promise<void> entered;
  std::atomic<bool> left{false};
  const ServiceKey door{.key = 1, .service = Service::kLink, .rank = 0};
  auto slow = listener_->serve(door, secret_, [&](Caller) {
    entered.set_value();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    left = true;
  });
  ASSERT_TRUE(slow.ok());
  ASSERT_TRUE(knock(door).ok());
  entered.get_future().wait();
  slow->reset();
  EXPECT_TRUE(left);
}

TEST(ListenerRange, TakenRangeIsNamed) {
  const int first = 10'000 + getpid() % 10'000;
  const std::string range = fmt::format("{}-{}", first, first + 1);
  auto holder_a = Listener::at(loopback(static_cast<uint16_t>(first)));
  auto holder_b = Listener::at(loopback(static_cast<uint16_t>(first + 1)));
  ASSERT_TRUE(holder_a.ok() && holder_b.ok());
  const auto listener = Listener::get(range);
  ASSERT_FALSE(listener.ok());
  EXPECT_THAT(listener.status().message(), AllOf(HasSubstr("STRAIT_PORT_RANGE"), HasSubstr(range)));
  holder_b->reset();
  const auto now_free = Listener::get(range);
  ASSERT_TRUE(now_free.ok()) << now_free.status().message();
  EXPECT_EQ((*now_free)->port(), first + 1);
}

TEST(ListenerRange, NonsenseIsRefused) {
  for (const char* text : {"x", "0", "10-", "10-5", "70000", "1-70000", "1-2-3"}) {
    const auto listener = Listener::get(text);
    ASSERT_FALSE(listener.ok()) << text;
    EXPECT_EQ(listener.status().code(), Code::kInvalidArgument);
  }
}

TEST_F(ListenerTest, DialTriesEveryAddressAndListsWhatFailed) {
  const Listener* listener = listener_.get();
  // A port where nobody listens, then one that takes the connection and says nothing, then ours.
  UniqueFd mute(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_storage storage;
  const socklen_t length = loopback(0).to(&storage);
  ASSERT_EQ(bind(mute.get(), reinterpret_cast<sockaddr*>(&storage), length), 0);
  ASSERT_EQ(listen(mute.get(), 5), 0);
  const Address silent = local_address(mute.get());
  Destination destination{.candidates = {loopback(1), silent, loopback(listener->port())},
                          .service = kDoor,
                          .from = 5,
                          .note = note_};
  const int64_t start_ns = now_ns();
  const auto connection = dial(destination, secret_, Deadline::after_ms(5'000));
  ASSERT_TRUE(connection.ok()) << connection.status().message();
  EXPECT_EQ(connection->remote.port, listener->port());
  EXPECT_LT(now_ns() - start_ns, 2'000'000'000);
  destination.candidates.pop_back();
  const auto none = dial(destination, secret_, Deadline::after_ms(600));
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.status().code(), Code::kTimeout);
  EXPECT_THAT(none.status().message(),
              AllOf(HasSubstr("127.0.0.1:1 (nobody listens there)"),
                    HasSubstr(silent.text() + " (it does not answer the handshake)")));
}

TEST_F(ListenerTest, Ipv6ReachesTheSamePort) {
  const auto connection =
      dial({.candidates = {Address::parse("[::1]:1")->with_port(listener_->port())},
            .service = kDoor,
            .from = 5,
            .note = note_},
           secret_, Deadline::after_ms(2'000));
  if (!connection.ok()) GTEST_SKIP() << "no IPv6 here: " << connection.status().message();
  EXPECT_TRUE(callers_become(1));
}

}  // namespace
}  // namespace strait::net
