// What the kernel's counts say of a connection whose rate is known, one that nobody reads, and one
// that nothing limits.

#include "transport/net/rate_meter.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>

#include <array>
#include <cstdlib>
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

// A network namespace of the calling thread's own, whose loopback carries so much.
bool limit_loopback(const char* rate) {
  if (unshare(CLONE_NEWNET) != 0) return false;
  const std::string limit = std::string(
                                "tc qdisc add dev lo root tbf burst 256kb latency 50ms "
                                "rate ") +
                            rate + " 2>/dev/null";
  return std::system("ip link set lo up 2>/dev/null") == 0 && std::system(limit.c_str()) == 0;
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
