// What the kernel's counts say of a connection whose rate is known, one that nobody reads, and one
// that nothing limits.

#include "transport/net/rate_meter.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/fd.hpp"

namespace strait::test {
namespace {

constexpr size_t kMessage = 64 << 10;

struct Sockets {
  UniqueFd sender;
  UniqueFd receiver;
};

Sockets connected() {
  Sockets sockets;
  const UniqueFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(listen(listener.get(), 1), 0);
  EXPECT_EQ(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  sockets.sender = UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(connect(sockets.sender.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  sockets.receiver = UniqueFd(accept(listener.get(), nullptr, nullptr));
  EXPECT_GE(sockets.receiver.get(), 0);
  return sockets;
}

// Sends messages while the other end reads; the last measure that told something.
LinkRate measure_stream(const Sockets& sockets, int messages) {
  std::thread reader([&] {
    std::vector<char> bytes(kMessage);
    while (recv(sockets.receiver.get(), bytes.data(), bytes.size(), 0) > 0) continue;
  });
  const std::vector<char> bytes(kMessage);
  net::RateMeter meter;
  LinkRate last;
  for (int i = 0; i < messages; ++i) {
    EXPECT_EQ(send(sockets.sender.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(kMessage));
    if (i % 8 != 0) continue;
    const LinkRate rate = meter.measure(sockets.sender.get(), 8);
    if (rate.bytes_per_second > 0) last = rate;
  }
  shutdown(sockets.sender.get(), SHUT_WR);
  reader.join();
  return last;
}

// Runs a program in the network namespace of the calling thread; true if it ended well.
bool run(std::vector<const char*> words) {
  words.push_back(nullptr);
  pid_t child = 0;
  if (posix_spawnp(&child, words[0], nullptr, nullptr, const_cast<char**>(words.data()), environ) !=
      0)
    return false;
  int ending = 0;
  return waitpid(child, &ending, 0) == child && ending == 0;
}

// A network namespace of the calling thread's own, whose loopback carries so much.
bool limit_loopback(const char* rate) {
  return unshare(CLONE_NEWNET) == 0 && run({"ip", "link", "set", "lo", "up"}) &&
         run({"tc", "qdisc", "add", "dev", "lo", "root", "tbf", "burst", "256kb", "latency", "50ms",
              "rate", rate});
}

TEST(RateMeter, MeasuresWhatALimitedConnectionCarries) {
  bool limited = false;
  LinkRate rate;
  std::thread([&] {
    limited = limit_loopback("400mbit");
    if (limited) rate = measure_stream(connected(), 256);
  }).join();
  if (!limited) GTEST_SKIP() << "limiting a loopback takes root, and tc of iproute2";
  EXPECT_TRUE(rate.known);
  EXPECT_GT(rate.bytes_per_second, 15e6);
  EXPECT_LT(rate.bytes_per_second, 75e6);
}

TEST(RateMeter, WhatTheReceiverHoldsUpIsNotTheConnection) {
  const Sockets sockets = connected();
  const std::vector<char> bytes(kMessage);
  net::RateMeter meter;
  EXPECT_EQ(meter.measure(sockets.sender.get(), 0).bytes_per_second, 0);
  while (send(sockets.sender.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
    continue;
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const LinkRate rate = meter.measure(sockets.sender.get(), 8);
  EXPECT_GT(rate.bytes_per_second, 0);
  EXPECT_FALSE(rate.known);
}

TEST(RateMeter, TellsNothingOfAMomentOrOfWhatIsNoConnection) {
  const Sockets sockets = connected();
  net::RateMeter meter;
  EXPECT_EQ(meter.measure(sockets.sender.get(), 0).bytes_per_second, 0);
  EXPECT_EQ(meter.measure(sockets.sender.get(), 1).bytes_per_second, 0);
  EXPECT_EQ(net::RateMeter().measure(-1, 1).bytes_per_second, 0);
}

}  // namespace
}  // namespace strait::test
