#include "perf/launch/socket.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

namespace strait::perf {
namespace {

constexpr int kRetryMs = 50;
constexpr int kFlags = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;

Status wait_for(int fd, short events, Deadline deadline) {
  for (;;) {
    pollfd entry{fd, events, 0};
    const int ready = ::poll(&entry, 1, std::min(deadline.left_ms(), 60'000));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return system_error("poll");
    if (deadline.passed()) return error(Code::kTimeout, "the other process did not answer in time");
  }
}

Result<UniqueFd> listen_family(int family, const sockaddr* address, socklen_t bytes) {
  UniqueFd fd(::socket(family, kFlags, 0));
  if (!fd) return system_error("socket");
  const int on = 1, off = 0;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (family == AF_INET6) ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  if (::bind(fd.get(), address, bytes) != 0) return system_error("bind");
  if (::listen(fd.get(), SOMAXCONN) != 0) return system_error("listen");
  return fd;
}

// On a loopback port where nobody listens, a connection can meet its own other end.
bool meets_itself(int fd) {
  sockaddr_storage own{}, other{};
  socklen_t own_bytes = sizeof(own), other_bytes = sizeof(other);
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &own_bytes);
  ::getpeername(fd, reinterpret_cast<sockaddr*>(&other), &other_bytes);
  return own_bytes == other_bytes && std::memcmp(&own, &other, own_bytes) == 0;
}

// One attempt at one address.
Result<UniqueFd> connect_once(const addrinfo& place, Deadline deadline) {
  UniqueFd fd(::socket(place.ai_family, kFlags, 0));
  if (!fd) return system_error("socket");
  if (::connect(fd.get(), place.ai_addr, place.ai_addrlen) != 0 && errno != EINPROGRESS)
    return system_error("connect");
  STRAIT_TRY(wait_for(fd.get(), POLLOUT, deadline));
  int failure = 0;
  socklen_t bytes = sizeof(failure);
  ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &failure, &bytes);
  if (failure != 0) {
    errno = failure;
    return system_error("connect");
  }
  if (meets_itself(fd.get())) return error(Code::kSystemError, "connect: nobody listens");
  const int on = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return fd;
}

}  // namespace

Result<UniqueFd> listen_on(int port, const char* variable) {
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_addr = in6addr_any;
  six.sin6_port = htons(static_cast<uint16_t>(port));
  auto listener = listen_family(AF_INET6, reinterpret_cast<sockaddr*>(&six), sizeof(six));
  if (!listener.ok() && errno != EADDRINUSE) {  // a host without IPv6
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_addr.s_addr = htonl(INADDR_ANY);
    four.sin_port = htons(static_cast<uint16_t>(port));
    listener = listen_family(AF_INET, reinterpret_cast<sockaddr*>(&four), sizeof(four));
  }
  if (listener.ok()) return listener;
  return error(Code::kSystemError, "process 0 cannot listen on port {} ({}); set {} to a free port",
               port, listener.status().message(), variable);
}

Result<UniqueFd> accept_one(int listener, Deadline deadline) {
  if (!wait_for(listener, POLLIN, deadline).ok()) return UniqueFd();
  UniqueFd fd(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!fd && (errno == EAGAIN || errno == ECONNABORTED || errno == EINTR)) return UniqueFd();
  if (!fd) return system_error("accept");
  const int on = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return fd;
}

Result<UniqueFd> connect_to(const std::string& address, int port, Deadline deadline) {
  Status last;
  do {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    const int code = ::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &list);
    if (code != 0 && code != EAI_AGAIN)
      return error(Code::kSystemError, "MASTER_ADDR=\"{}\" is no address: {}", address,
                   ::gai_strerror(code));
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, &::freeaddrinfo);
    for (const addrinfo* place = list; place != nullptr; place = place->ai_next) {
      auto fd = connect_once(*place, deadline);
      if (fd.ok()) return fd;
      last = fd.status();
    }
    ::poll(nullptr, 0, std::min(kRetryMs, deadline.left_ms()));
  } while (!deadline.passed());
  return error(Code::kTimeout, "process 0 does not listen at {}:{} ({}); is it running there?",
               address, port, last.message());
}

Status send_all(int fd, std::span<const std::byte> bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes = bytes.subspan(static_cast<size_t>(sent));
    } else if (errno == EAGAIN || errno == EINTR) {
      STRAIT_TRY(wait_for(fd, POLLOUT, deadline));
    } else {
      return system_error("the connection to the other process broke");
    }
  }
  return {};
}

Status recv_all(int fd, std::span<std::byte> bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t got = ::recv(fd, bytes.data(), bytes.size(), 0);
    if (got > 0) {
      bytes = bytes.subspan(static_cast<size_t>(got));
    } else if (got == 0) {
      return error(Code::kRemoteError, "the other process ended");
    } else if (errno == EAGAIN || errno == EINTR) {
      STRAIT_TRY(wait_for(fd, POLLIN, deadline));
    } else {
      return system_error("the connection to the other process broke");
    }
  }
  return {};
}

}  // namespace strait::perf
