// Encrypted connections: what travels says nothing, and whoever has no key or another one, or
// changes a byte on the way, is found out at once.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <numeric>
#include <thread>

#include "base/clock.hpp"
#include "tests/transport/meddling_proxy.hpp"
#include "transport/net/dial.hpp"
#include "transport/net/listener.hpp"

namespace strait::net {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr ServiceKey kDoor{.key = 78, .service = Service::kLink, .rank = 3};
constexpr const char* kMarker = "a sentence that nobody on the way shall read";
constexpr int64_t kPromptMs = 3'000;

std::shared_ptr<const TlsKey> key_of(const std::string& text) {
  auto key = TlsKey::make(text + " 0123456789abcdef0123456789abcdef");
  EXPECT_TRUE(key.ok()) << key.status().message();
  return key.ok() ? *key : nullptr;
}

bool wait_readable(int fd, int64_t ms) {
  pollfd entry{.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&entry, 1, static_cast<int>(ms)) > 0;
}

// Sends all of it, waiting where the socket has no room.
void send_all(Stream& stream, std::span<const std::byte> bytes) {
  const Deadline deadline = Deadline::after_ms(20'000);
  while (!bytes.empty() && !deadline.passed()) {
    const ssize_t sent = stream.send(bytes);
    if (sent > 0) {
      bytes = bytes.subspan(static_cast<size_t>(sent));
      continue;
    }
    ASSERT_EQ(errno, EAGAIN) << stream.problem();
    pollfd entry{.fd = stream.get(), .events = POLLOUT, .revents = 0};
    poll(&entry, 1, 100);
  }
  ASSERT_TRUE(bytes.empty());
}

// Until so much has come, the stream has ended, or it has failed.
std::vector<std::byte> receive_all(Stream& stream, size_t count) {
  std::vector<std::byte> bytes(count);
  size_t received = 0;
  const Deadline deadline = Deadline::after_ms(20'000);
  while (received < count && !deadline.passed()) {
    const ssize_t got = stream.receive(std::span(bytes).subspan(received));
    if (got > 0) {
      received += static_cast<size_t>(got);
      continue;
    }
    if (got == 0 || errno != EAGAIN) break;
    wait_readable(stream.get(), 100);
  }
  bytes.resize(received);
  return bytes;
}

class TlsTest : public testing::Test {
 protected:
  void SetUp() override {
    listener_ = *Listener::get("");
    auto registration = listener_->serve(kDoor, secret_, [this](Caller caller) {
      std::lock_guard lock(mutex_);
      callers_.push_back(std::move(caller));
    });
    ASSERT_TRUE(registration.ok());
    registration_ = std::move(*registration);
  }
  void TearDown() override { set_process_key(nullptr); }

  Address door() const { return Address::parse("127.0.0.1:1")->with_port(listener_->port()); }

  Result<Connection> knock(const Address& address) const {
    const int64_t begin_ns = now_ns();
    auto result = dial({.candidates = {address}, .service = kDoor, .from = 5, .note = {}}, secret_,
                       Deadline::after_ms(8'000));
    EXPECT_LT(now_ns() - begin_ns, kPromptMs * 1'000'000);
    return result;
  }

  Stream caller() {
    const Deadline deadline = Deadline::after_ms(kPromptMs);
    while (!deadline.passed()) {
      {
        std::lock_guard lock(mutex_);
        if (!callers_.empty()) {
          Stream stream = std::move(callers_.back().fd);
          callers_.pop_back();
          return stream;
        }
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ADD_FAILURE() << "nobody came";
    return Stream();
  }

  UniqueFd connect_raw() const {
    UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_storage storage;
    const socklen_t length = door().to(&storage);
    EXPECT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&storage), length), 0);
    return fd;
  }

  const std::vector<std::byte> secret_ = std::vector<std::byte>(32, std::byte{9});
  std::shared_ptr<Listener> listener_;
  std::mutex mutex_;
  std::vector<Caller> callers_;
  std::unique_ptr<Registration> registration_;
};

std::string seen_of_exchange(const std::function<Result<Connection>(const Address&)>& knock,
                             const std::function<Stream()>& caller, const Address& door) {
  MeddlingProxy proxy(door);
  auto connection = knock(proxy.address());
  EXPECT_TRUE(connection.ok()) << connection.status().message();
  if (!connection.ok()) return {};
  Stream other = caller();
  const auto words = std::as_bytes(std::span(kMarker, std::strlen(kMarker)));
  send_all(connection->fd, words);
  EXPECT_EQ(receive_all(other, words.size()), std::vector<std::byte>(words.begin(), words.end()));
  send_all(other, words);
  EXPECT_EQ(receive_all(connection->fd, words.size()).size(), words.size());
  return proxy.seen();
}

TEST_F(TlsTest, WhatTravelsSaysNothing) {
  const auto knocks = [this](const Address& address) { return knock(address); };
  const auto comes = [this] { return caller(); };
  const std::string plain = seen_of_exchange(knocks, comes, door());
  EXPECT_THAT(plain, HasSubstr(kMarker)) << "without a key it can be read: the test can see";
  set_process_key(key_of("one"));
  const std::string coded = seen_of_exchange(knocks, comes, door());
  EXPECT_GT(coded.size(), plain.size());
  EXPECT_THAT(coded, Not(HasSubstr(kMarker)));
  const std::string magic(reinterpret_cast<const char*>(&kMagic), sizeof kMagic);
  EXPECT_THAT(plain, HasSubstr(magic));
  EXPECT_THAT(coded, Not(HasSubstr(magic))) << "nor the handshake of the communicator";
}

TEST_F(TlsTest, MuchGoesThroughInOrderBothWaysAtOnce) {
  set_process_key(key_of("one"));
  auto connection = knock(door());
  ASSERT_TRUE(connection.ok()) << connection.status().message();
  EXPECT_TRUE(connection->fd.encrypted());
  Stream other = caller();
  std::vector<uint32_t> numbers(3 << 20);
  std::iota(numbers.begin(), numbers.end(), 7U);
  const auto bytes = std::as_bytes(std::span(numbers));
  std::thread there([&] { send_all(connection->fd, bytes); });
  std::thread back([&] { send_all(other, bytes); });
  std::vector<std::byte> came_back;
  std::thread reads([&] { came_back = receive_all(connection->fd, bytes.size()); });
  const std::vector<std::byte> came = receive_all(other, bytes.size());
  for (std::thread* thread : {&there, &back, &reads}) thread->join();
  EXPECT_TRUE(std::ranges::equal(came, bytes));
  EXPECT_TRUE(std::ranges::equal(came_back, bytes));
}

TEST_F(TlsTest, AChangedByteIsNoticed) {
  set_process_key(key_of("one"));
  MeddlingProxy proxy(door(), 40'000);
  auto connection = knock(proxy.address());
  ASSERT_TRUE(connection.ok()) << connection.status().message();
  Stream other = caller();
  const std::vector<std::byte> bytes(100'000, std::byte{3});
  std::thread sends([&] { send_all(connection->fd, bytes); });
  const std::vector<std::byte> came = receive_all(other, bytes.size());
  sends.join();
  EXPECT_LT(came.size(), 40'000U) << "nothing of the changed record is handed out";
  EXPECT_THAT(other.problem(), HasSubstr("bad record mac"));
}

TEST_F(TlsTest, TheCallerHasAnotherKey) {
  set_process_key(key_of("one"));
  auto stream = Stream::over(connect_raw(), Side::kCaller, key_of("another"));
  ASSERT_TRUE(stream.ok());
  const Greeting greeting;
  const Deadline deadline = Deadline::after_ms(kPromptMs);
  while (stream->problem().empty() && !deadline.passed()) {
    if (stream->send(std::as_bytes(std::span(&greeting, 1))) < 0 && errno != EAGAIN) break;
    wait_readable(stream->get(), 100);
  }
  EXPECT_THAT(stream->problem(), HasSubstr("alert"));
  std::lock_guard lock(mutex_);
  EXPECT_TRUE(callers_.empty());
}

TEST_F(TlsTest, TheCallerHasNoKey) {
  set_process_key(key_of("one"));
  Stream stream(connect_raw());
  const Greeting greeting;
  EXPECT_EQ(stream.send(std::as_bytes(std::span(&greeting, 1))),
            static_cast<ssize_t>(sizeof greeting));
  char answer[64];
  ASSERT_TRUE(wait_readable(stream.get(), kPromptMs));
  EXPECT_LT(recv(stream.get(), answer, sizeof answer, 0), 32) << "an alert, or the end";
}

// A listener that is another process's, with a key of its own or none.
class Other {
 public:
  explicit Other(std::shared_ptr<const TlsKey> key) {
    fd_ = UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_storage storage;
    socklen_t length = Address::parse("127.0.0.1:1")->with_port(0).to(&storage);
    EXPECT_EQ(bind(fd_.get(), reinterpret_cast<sockaddr*>(&storage), length), 0);
    EXPECT_EQ(listen(fd_.get(), 1), 0);
    EXPECT_EQ(getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&storage), &length), 0);
    address_ = *Address::from(reinterpret_cast<sockaddr*>(&storage));
    thread_ = std::thread([this, key = std::move(key)] {
      UniqueFd accepted(accept(fd_.get(), nullptr, nullptr));
      auto stream = Stream::over(std::move(accepted), Side::kListener, key);
      Greeting greeting;
      const Deadline deadline = Deadline::after_ms(kPromptMs);
      while (!deadline.passed()) {
        const ssize_t got = stream->receive(std::as_writable_bytes(std::span(&greeting, 1)));
        if (got >= 0 || errno != EAGAIN) break;  // hangs up
        wait_readable(stream->get(), 100);
      }
      stream->discard();
    });
  }
  ~Other() { thread_.join(); }
  Address address() const { return address_; }

 private:
  UniqueFd fd_;
  Address address_;
  std::thread thread_;
};

TEST_F(TlsTest, TheListenerHasAnotherKeyOrNone) {
  set_process_key(key_of("one"));
  for (const auto& key : {key_of("another"), std::shared_ptr<const TlsKey>()}) {
    const Other other(key);
    const auto connection = knock(other.address());
    ASSERT_FALSE(connection.ok());
    EXPECT_EQ(connection.status().code(), Code::kRemoteError);
    EXPECT_THAT(connection.status().message(),
                HasSubstr("call ncclSetEncryption with one key in every process"));
  }
}

TEST_F(TlsTest, OnlyTheListenerHasAKey) {
  const Other other(key_of("one"));
  const auto connection = knock(other.address());
  ASSERT_FALSE(connection.ok());
  EXPECT_THAT(connection.status().message(),
              HasSubstr("if it calls ncclSetEncryption, every process must"));
}

}  // namespace
}  // namespace strait::net
