#include "transport/net/socket.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <climits>

namespace strait::net {
namespace {

constexpr int kKeepIdleS = 15;
constexpr int kKeepIntervalS = 5;
constexpr int kKeepProbes = 6;

void set_option(int fd, int level, int option, int value) {
  // Every option here makes a good connection better; without it the connection still works.
  [[maybe_unused]] const int rc = setsockopt(fd, level, option, &value, sizeof value);
}

template <class Getter>
Address name_of(int fd, Getter getter) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  auto* address = reinterpret_cast<sockaddr*>(&storage);
  if (getter(fd, address, &length) != 0) return Address();
  return Address::from(address).value_or(Address());
}

}  // namespace

Result<UniqueFd> open_socket(int family) {
  UniqueFd fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
  if (!fd) return system_error("a socket cannot be opened");
  return fd;
}

void tune_socket(int fd) {
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, kKeepIdleS);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, kKeepIntervalS);
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, kKeepProbes);
}

void limit_unacknowledged(int fd, int64_t timeout_ms) {
  if (timeout_ms <= 0) return;
  set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT,
             static_cast<int>(std::min<int64_t>(timeout_ms, INT_MAX)));
}

void set_traffic_class(int fd, int64_t traffic_class) {
  if (traffic_class < 0) return;
  // One of the two is the socket's family.
  set_option(fd, IPPROTO_IP, IP_TOS, static_cast<int>(traffic_class));
  set_option(fd, IPPROTO_IPV6, IPV6_TCLASS, static_cast<int>(traffic_class));
}

Address local_address(int fd) {
  return name_of(fd, getsockname);
}
Address remote_address(int fd) {
  return name_of(fd, getpeername);
}

}  // namespace strait::net
