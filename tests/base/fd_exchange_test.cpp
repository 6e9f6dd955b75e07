#include "base/fd_exchange.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/shared_memory.hpp"

namespace strait {
namespace {

using testing::HasSubstr;

constexpr uint64_t kComm = 0xabcdef;

std::vector<std::byte> secret(uint8_t byte) {
  return std::vector<std::byte>(32, static_cast<std::byte>(byte));
}

Deadline soon() {
  return Deadline::after_ms(10'000);
}

class Exchange : public testing::Test {
 protected:
  void SetUp() override {
    auto exchange = FdExchange::get();
    ASSERT_TRUE(exchange.ok()) << exchange.status().message();
    exchange_ = *exchange;
    auto shelf = exchange_->open_shelf(kComm, 3, secret(1));
    ASSERT_TRUE(shelf.ok()) << shelf.status().message();
    shelf_ = std::move(*shelf);
  }

  // Publishes memory that starts with this byte.
  Status publish(const std::string& name, int byte, FdUses uses = FdUses::kMany) {
    STRAIT_ASSIGN(auto memory, SharedMemory::create("a test", 64));
    memory.data()[0] = static_cast<std::byte>(byte);
    return shelf_->publish(name, memory.take_fd(), uses);
  }

  Result<FetchedFd> fetch(const std::string& name, Deadline deadline = soon(), int rank = 3,
                          uint8_t secret_byte = 1) {
    return fetch_fd(exchange_->address(), kComm, rank, name, secret(secret_byte), deadline);
  }

  // The first byte of what is fetched; -1 if nothing is.
  int fetch_byte(const std::string& name) {
    auto fetched = fetch(name);
    if (!fetched.ok()) return -1;
    auto memory = SharedMemory::map(std::move(fetched->fd), 64);
    return memory.ok() ? static_cast<int>(memory->data()[0]) : -1;
  }

  UniqueFd connect_stranger() {
    UniqueFd line(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un name{.sun_family = AF_UNIX, .sun_path = {}};
    const std::string& address = exchange_->address();
    address.copy(name.sun_path + 1, address.size());
    const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + address.size());
    EXPECT_EQ(connect(line.get(), reinterpret_cast<sockaddr*>(&name), bytes), 0);
    return line;
  }

  std::shared_ptr<FdExchange> exchange_;
  std::unique_ptr<FdShelf> shelf_;
};

TEST_F(Exchange, HandsOverWhatIsPublished) {
  ASSERT_TRUE(publish("one", 11).ok());
  ASSERT_TRUE(publish("two", 22).ok());
  EXPECT_EQ(fetch_byte("two"), 22);
  EXPECT_EQ(fetch_byte("one"), 11);
  EXPECT_EQ(fetch_byte("one"), 11);
  EXPECT_EQ(fetch("one")->process, getpid());
}

TEST_F(Exchange, WaitsUntilItIsPublished) {
  std::atomic<int> got{0};
  std::thread fetcher([&] { got = fetch_byte("late"); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(got, 0);
  ASSERT_TRUE(publish("late", 5).ok());
  fetcher.join();
  EXPECT_EQ(got, 5);
}

TEST_F(Exchange, ManyWaitForTheSameName) {
  std::atomic<int> good{0};
  std::vector<std::thread> fetchers;
  for (int i = 0; i < 8; ++i) fetchers.emplace_back([&] { good += fetch_byte("late") == 5; });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  ASSERT_TRUE(publish("late", 5).ok());
  for (std::thread& fetcher : fetchers) fetcher.join();
  EXPECT_EQ(good, 8);
}

TEST_F(Exchange, WaitEndsAtTheDeadline) {
  const auto fetched = fetch("never", Deadline::after_ms(50));
  EXPECT_EQ(fetched.status().code(), Code::kTimeout);
  EXPECT_THAT(fetched.status().message(), HasSubstr("rank 3"));
}

TEST_F(Exchange, OnceIsOnce) {
  ASSERT_TRUE(publish("link", 1, FdUses::kOnce).ok());
  EXPECT_EQ(fetch_byte("link"), 1);
  EXPECT_EQ(fetch("link", Deadline::after_ms(50)).status().code(), Code::kTimeout);
  EXPECT_TRUE(publish("link", 2, FdUses::kOnce).ok());
}

TEST_F(Exchange, NamesAreUniqueUntilWithdrawn) {
  ASSERT_TRUE(publish("name", 1).ok());
  EXPECT_THAT(publish("name", 2).message(), HasSubstr("already published"));
  shelf_->withdraw("name");
  EXPECT_TRUE(publish("name", 2).ok());
  EXPECT_EQ(fetch_byte("name"), 2);
  EXPECT_FALSE(publish(std::string(500, 'n'), 1).ok());
}

TEST_F(Exchange, RefusesWhoDoesNotKnowTheSecret) {
  ASSERT_TRUE(publish("name", 1).ok());
  EXPECT_THAT(fetch("name", soon(), 3, 9).status().message(), HasSubstr("secret differs"));
  EXPECT_THAT(fetch("name", soon(), 4).status().message(), HasSubstr("rank 4 refused"));
  EXPECT_FALSE(exchange_->open_shelf(kComm, 3, secret(2)).ok());
  EXPECT_FALSE(exchange_->open_shelf(kComm, 8, std::vector<std::byte>(31)).ok());
  EXPECT_EQ(fetch_byte("name"), 1);
}

TEST_F(Exchange, StrangersDisturbNobody) {
  ASSERT_TRUE(publish("name", 1).ok());
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 400; ++i) silent.push_back(connect_stranger());
  for (const std::string& text : {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(232, '\0'),
                                  std::string(60'000, 'x'), std::string("x")}) {
    const UniqueFd stranger = connect_stranger();
    ASSERT_GT(send(stranger.get(), text.data(), text.size(), MSG_NOSIGNAL), 0);
    EXPECT_EQ(fetch_byte("name"), 1);
    // It hears a greeting, perhaps a refusal, and the end.
    timeval limit{.tv_sec = 10, .tv_usec = 0};
    setsockopt(stranger.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    char heard[256];
    ssize_t length = 0;
    while ((length = recv(stranger.get(), heard, sizeof heard, 0)) > 0) continue;
    EXPECT_TRUE(length == 0 || errno == ECONNRESET) << errno;
  }
}

TEST_F(Exchange, ShelvesOfOneRankStandBesideEachOther) {
  auto second = exchange_->open_shelf(kComm, 3, secret(1));
  ASSERT_TRUE(second.ok());
  ASSERT_TRUE(publish("name", 1).ok());
  second->reset();
  EXPECT_EQ(fetch_byte("name"), 1);
}

TEST_F(Exchange, LineTellsWhenTheRankLeaves) {
  ASSERT_TRUE(publish("name", 1).ok());
  auto fetched = fetch("name");
  ASSERT_TRUE(fetched.ok()) << fetched.status().message();
  std::atomic<bool> told{false};
  std::string why;
  auto line = PeerLine::watch(std::move(fetched->line), 3, fetched->process, [&](const Status& s) {
    why = s.message();
    told = true;
  });
  ASSERT_TRUE(line.ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(told);
  shelf_.reset();
  const Deadline deadline = soon();
  while (!told && !deadline.passed()) std::this_thread::yield();
  ASSERT_TRUE(told);
  EXPECT_EQ(why, fmt::format("rank 3 (process {}) left the communicator", getpid()));
}

TEST_F(Exchange, AForkedChildServesItself) {
  ASSERT_TRUE(publish("name", 1).ok());
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    [[maybe_unused]] FdShelf* parents = shelf_.release();  // nobody serves it here
    exchange_ = *FdExchange::get();
    shelf_ = std::move(*exchange_->open_shelf(kComm + 1, 3, secret(1)));
    const Status published = publish("name", 2);
    auto fetched = fetch_fd(exchange_->address(), kComm + 1, 3, "name", secret(1), soon());
    _exit(published.ok() && fetched.ok() ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(fetch_byte("name"), 1);
}

TEST_F(Exchange, NobodyListensAfterTheEnd) {
  const std::string address = exchange_->address();
  shelf_.reset();
  exchange_.reset();
  const auto fetched = fetch_fd(address, kComm, 3, "name", secret(1), soon());
  EXPECT_THAT(fetched.status().message(), HasSubstr("rank 3 is not on this host"));
}

}  // namespace
}  // namespace strait
