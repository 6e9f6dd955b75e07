#include "tests/transport/meddling_proxy.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

namespace strait::net {
namespace {

constexpr int kTurnMs = 20;

struct Pair {
  int caller = -1;
  int listener = -1;
  uint64_t from_caller = 0;
};

void send_all(int fd, const char* bytes, size_t count) {
  while (count > 0) {
    const ssize_t sent = send(fd, bytes, count, MSG_NOSIGNAL);
    if (sent <= 0) return;
    bytes += sent;
    count -= static_cast<size_t>(sent);
  }
}

}  // namespace

MeddlingProxy::MeddlingProxy(const Address& target, std::optional<uint64_t> flipped)
    : target_(target), flipped_(flipped) {
  listening_ = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_storage storage;
  socklen_t length = Address::parse("127.0.0.1:1")->with_port(0).to(&storage);
  EXPECT_EQ(bind(listening_, reinterpret_cast<sockaddr*>(&storage), length), 0);
  EXPECT_EQ(listen(listening_, 16), 0);
  EXPECT_EQ(getsockname(listening_, reinterpret_cast<sockaddr*>(&storage), &length), 0);
  address_ = *Address::from(reinterpret_cast<sockaddr*>(&storage));
  thread_ = std::thread([this] { serve(); });
}

MeddlingProxy::~MeddlingProxy() {
  ending_ = true;
  thread_.join();
  close(listening_);
}

std::string MeddlingProxy::seen() {
  std::lock_guard lock(mutex_);
  return seen_;
}

void MeddlingProxy::serve() {
  std::vector<Pair> pairs;
  std::vector<char> buffer(1 << 16);
  // False when the source has ended.
  const auto pass = [&](Pair& pair, bool from_caller) {
    const int source = from_caller ? pair.caller : pair.listener;
    const ssize_t got = recv(source, buffer.data(), buffer.size(), 0);
    if (got <= 0) return false;
    if (from_caller && flipped_ && *flipped_ >= pair.from_caller &&
        *flipped_ < pair.from_caller + static_cast<uint64_t>(got))
      buffer[*flipped_ - pair.from_caller] ^= 1;
    if (from_caller) pair.from_caller += static_cast<uint64_t>(got);
    {
      std::lock_guard lock(mutex_);
      seen_.append(buffer.data(), static_cast<size_t>(got));
    }
    send_all(from_caller ? pair.listener : pair.caller, buffer.data(), static_cast<size_t>(got));
    return true;
  };
  while (!ending_) {
    std::vector<pollfd> polls = {{.fd = listening_, .events = POLLIN, .revents = 0}};
    for (const Pair& pair : pairs)
      for (const int fd : {pair.caller, pair.listener})
        polls.push_back({.fd = fd, .events = POLLIN, .revents = 0});
    if (poll(polls.data(), polls.size(), kTurnMs) <= 0) continue;
    for (size_t i = 0; i < pairs.size(); ++i)
      for (const bool from_caller : {true, false}) {
        if (pairs[i].caller < 0 || polls[1 + 2 * i + (from_caller ? 0 : 1)].revents == 0) continue;
        if (pass(pairs[i], from_caller)) continue;
        close(pairs[i].caller);
        close(pairs[i].listener);
        pairs[i] = {};
      }
    if (polls[0].revents == 0) continue;
    Pair pair;
    pair.caller = accept(listening_, nullptr, nullptr);
    pair.listener = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_storage storage;
    const socklen_t length = target_.to(&storage);
    if (connect(pair.listener, reinterpret_cast<sockaddr*>(&storage), length) == 0)
      pairs.push_back(pair);
  }
  for (const Pair& pair : pairs)
    for (const int fd : {pair.caller, pair.listener})
      if (fd >= 0) close(fd);
}

}  // namespace strait::net
