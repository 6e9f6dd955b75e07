#include "transport/net/listener.hpp"

#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/reactor.hpp"
#include "transport/net/arrivals.hpp"
#include "transport/net/reach.hpp"
#include "transport/net/socket.hpp"

namespace strait::net {
namespace {

constexpr int kBacklog = 4096;
constexpr int64_t kPauseNs = 100'000'000;  // after the process ran out of descriptors
constexpr int64_t kReleaseMs = 500;        // a port given up by this process may take so long
constexpr auto kRetryPause = std::chrono::milliseconds(10);

// What the reactor works on: the port and the connections that have just arrived. Lives and dies on
// the reactor's thread.
class Gate {
 public:
  Gate(UniqueFd fd, std::shared_ptr<Reactor> reactor, std::shared_ptr<ServiceBoard> board)
      : reactor_(std::move(reactor)), arrivals_(reactor_, std::move(board)), fd_(std::move(fd)) {}

  ~Gate() {
    reactor_->remove(fd_.get());
    reactor_->cancel(pause_timer_);
  }

  Status open() {
    return reactor_->add(fd_.get(), EPOLLIN, [this](uint32_t) { on_readable(); });
  }

 private:
  void on_readable() {
    while (true) {
      UniqueFd fd(accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (fd) {
        arrivals_.take(std::move(fd));
        continue;
      }
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno != EAGAIN) pause(errno);
      return;
    }
  }

  // Out of descriptors or memory: the waiting connection would call us again at once, for ever.
  void pause(int number) {
    log_warn("connections wait because accept fails: {}; raise the limit of open files (ulimit -n)",
             std::strerror(number));
    reactor_->modify(fd_.get(), 0);
    pause_timer_ =
        reactor_->schedule(now_ns() + kPauseNs, [this] { reactor_->modify(fd_.get(), EPOLLIN); });
  }

  std::shared_ptr<Reactor> reactor_;
  Arrivals arrivals_;
  UniqueFd fd_;
  uint64_t pause_timer_ = 0;
};

class OpenListener final : public Listener {
 public:
  static Result<std::shared_ptr<Listener>> open(UniqueFd fd) {
    STRAIT_ASSIGN(std::shared_ptr<Reactor> reactor, Reactor::get());
    const uint16_t port = local_address(fd.get()).port;
    auto board = std::make_shared<ServiceBoard>();
    auto gate = std::make_shared<Gate>(std::move(fd), reactor, board);
    STRAIT_TRY(gate->open());
    return std::shared_ptr<Listener>(
        std::make_shared<OpenListener>(port, reactor, std::move(gate), std::move(board)));
  }

  OpenListener(uint16_t port, std::shared_ptr<Reactor> reactor, std::shared_ptr<Gate> gate,
               std::shared_ptr<ServiceBoard> board)
      : port_(port),
        reactor_(std::move(reactor)),
        gate_(std::move(gate)),
        board_(std::move(board)) {}

  ~OpenListener() override {
    reactor_->schedule(now_ns(), [gate = std::move(gate_)]() mutable { gate.reset(); });
  }

  uint16_t port() const override { return port_; }

  Result<std::unique_ptr<Registration>> serve(const ServiceKey& where,
                                              std::span<const std::byte> secret,
                                              CallerHandler handler) override {
    return board_->serve(where, secret, std::move(handler));
  }

 private:
  uint16_t port_;
  std::shared_ptr<Reactor> reactor_;
  std::shared_ptr<Gate> gate_;
  std::shared_ptr<ServiceBoard> board_;
};

// Empty with errno set when the address cannot be had.
UniqueFd listen_at(const Address& address) {
  UniqueFd fd(socket(address.family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
  if (!fd) return fd;
  const int no = 0;
  const int yes = 1;
  if (address.port != 0) setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (address.family == AF_INET6) setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
  sockaddr_storage storage;
  const socklen_t length = address.to(&storage);
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&storage), length) != 0 ||
      listen(fd.get(), kBacklog) != 0) {
    const int number = errno;
    fd.reset();
    errno = number;
  }
  return fd;
}

// On every address of this host, of both families where there is IPv6.
UniqueFd listen_anywhere(uint16_t port) {
  if (kOneHost) return listen_at({.family = AF_INET, .bytes = {127, 0, 0, 1}, .port = port});
  UniqueFd fd = listen_at({.family = AF_INET6, .port = port});
  if (!fd && (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL))
    fd = listen_at({.family = AF_INET, .port = port});
  return fd;
}

struct PortRange {
  uint16_t first = 0;
  uint16_t last = 0;
};

std::optional<PortRange> parse_range(const std::string& text) {
  PortRange range;
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, range.first);
  if (first.ec != std::errc() || range.first == 0) return std::nullopt;
  if (first.ptr == end) return PortRange{range.first, range.first};
  if (*first.ptr != '-') return std::nullopt;
  const auto last = std::from_chars(first.ptr + 1, end, range.last);
  if (last.ec != std::errc() || last.ptr != end || range.last < range.first) return std::nullopt;
  return range;
}

Result<UniqueFd> listen_in(const std::string& port_range) {
  if (port_range.empty()) {
    UniqueFd fd = listen_anywhere(0);
    if (!fd) return system_error("no listening port can be opened");
    return fd;
  }
  const std::optional<PortRange> range = parse_range(port_range);
  if (!range)
    return error(Code::kInvalidArgument,
                 "STRAIT_PORT_RANGE is '{}'; write it as 40000-40050, with ports of 1 to 65535",
                 port_range);
  const Deadline release = Deadline::after_ms(kReleaseMs);
  while (true) {
    for (uint32_t port = range->first; port <= range->last; ++port) {
      UniqueFd fd = listen_anywhere(static_cast<uint16_t>(port));
      if (fd) return fd;
      if (errno != EADDRINUSE)
        return system_error(fmt::format("port {} of STRAIT_PORT_RANGE cannot be opened", port));
    }
    if (release.passed())
      return error(Code::kSystemError,
                   "every port of STRAIT_PORT_RANGE {} is taken; widen the range, one port is "
                   "needed per process of this host",
                   port_range);
    std::this_thread::sleep_for(kRetryPause);
  }
}

Result<UniqueFd> listen_exactly(const Address& address) {
  if (!within_reach(address))
    return error(Code::kInvalidUsage, "{} is no loopback address: {}", address.text(),
                 kOneHostReason);
  const Deadline release = Deadline::after_ms(kReleaseMs);
  while (true) {
    UniqueFd fd = listen_at(address);
    if (fd) return fd;
    if (errno != EADDRINUSE || release.passed())
      return system_error(fmt::format("no listening port can be opened at {}", address.text()));
    std::this_thread::sleep_for(kRetryPause);
  }
}

// The process's listeners by what they were asked for. A forked child inherits the map but not the
// thread that accepts, so the process is part of the name.
template <class Open>
Result<std::shared_ptr<Listener>> share(const std::string& wish, Open open) {
  const std::string name = fmt::format("{} {}", getpid(), wish);
  static std::mutex mutex;
  static auto& current = *new std::map<std::string, std::weak_ptr<Listener>>();
  std::lock_guard lock(mutex);
  if (auto listener = current[name].lock()) return listener;
  STRAIT_ASSIGN(UniqueFd fd, open());
  STRAIT_ASSIGN(std::shared_ptr<Listener> listener, OpenListener::open(std::move(fd)));
  log_info(LogPart::kInit | LogPart::kNet, "listening at {}", listener->port());
  std::erase_if(current, [](const auto& entry) { return entry.second.expired(); });
  current[name] = listener;
  return listener;
}

}  // namespace

Result<std::shared_ptr<Listener>> Listener::get(const std::string& port_range) {
  return share("range " + port_range, [&] { return listen_in(port_range); });
}

Result<std::shared_ptr<Listener>> Listener::at(const Address& address) {
  return share("at " + address.text(), [&] { return listen_exactly(address); });
}

}  // namespace strait::net
