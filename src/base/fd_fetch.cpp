// The client side of the exchange: one fetch, and the watch over the line that it leaves open.
#include <fcntl.h>
#include <poll.h>
#include <sodium.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/fd_exchange.hpp"
#include "base/fd_exchange_wire.hpp"

namespace strait {
namespace {

using fd_wire::Hello;
using fd_wire::Reply;
using fd_wire::Request;
using fd_wire::Side;

constexpr int kStopTurnMs = 50;

Status late(int rank) {
  return error(Code::kTimeout, "rank {} did not answer in time on this host", rank);
}

Result<UniqueFd> connect_to(const std::string& address, int rank, Deadline deadline) {
  sockaddr_un name{.sun_family = AF_UNIX, .sun_path = {}};
  if (address.empty() || address.size() >= sizeof name.sun_path)
    return error(Code::kInternalError, "rank {} gave an address that is none", rank);
  address.copy(name.sun_path + 1, sizeof name.sun_path - 1);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + address.size());
  UniqueFd line(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!line) return system_error("socket for fetching a file descriptor");
  while (connect(line.get(), reinterpret_cast<sockaddr*>(&name), length) != 0) {
    if (errno == ECONNREFUSED)
      return error(Code::kRemoteError,
                   "rank {} is not on this host, or in another network namespace, or gone", rank);
    if (errno != EAGAIN && errno != EINTR)
      return system_error(fmt::format("connecting to the Unix socket of rank {}", rank));
    if (deadline.passed()) return late(rank);
    poll(nullptr, 0, 1);  // its queue of connections is full: look again in a millisecond
  }
  return line;
}

// Waits for one packet of exactly this type.
template <class T>
Status receive(int line, int rank, Deadline deadline, const std::function<Status()>& stopped,
               T& packet, UniqueFd* fd = nullptr) {
  while (true) {
    const ssize_t length = fd_wire::receive_packet(line, packet, fd);
    if (length == sizeof packet) return Status();
    if (length >= 0)
      return error(Code::kRemoteError, "rank {} left or died while it was asked for memory", rank);
    if (errno != EAGAIN && errno != EINTR)
      return system_error(fmt::format("receiving from the Unix socket of rank {}", rank));
    if (deadline.passed()) return late(rank);
    if (stopped) STRAIT_TRY(stopped());
    pollfd wait{.fd = line, .events = POLLIN, .revents = 0};
    const int left_ms = deadline.left_ms();
    poll(&wait, 1, stopped ? std::min(left_ms, kStopTurnMs) : left_ms);
  }
}

}  // namespace

Result<FetchedFd> fetch_fd(const std::string& address, uint64_t comm_key, int rank,
                           const std::string& name, std::span<const std::byte> secret,
                           Deadline deadline, const std::function<Status()>& stopped) {
  if (sodium_init() < 0) return error(Code::kSystemError, "the system gives no random numbers");
  STRAIT_CHECK(name.size() < fd_wire::kNameBytes, "a published name has up to 127 bytes");
  FetchedFd fetched;
  STRAIT_ASSIGN(fetched.line, connect_to(address, rank, deadline));
  const int line = fetched.line.get();
  Hello hello{};
  STRAIT_TRY(receive(line, rank, deadline, stopped, hello));
  if (hello.magic != fd_wire::kHello)
    return error(Code::kRemoteError, "rank {} runs another version of the library", rank);

  Request request{};
  request.magic = fd_wire::kRequest;
  request.comm_key = comm_key;
  request.rank = rank;
  request.nonce = fd_wire::fresh_nonce();
  name.copy(request.name.data(), request.name.size() - 1);
  request.proof = fd_wire::prove(secret, Side::kClient, hello.nonce, request);
  if (!fd_wire::send_packet(line, request))
    return system_error(fmt::format("asking rank {} for memory", rank));

  Reply reply{};
  STRAIT_TRY(receive(line, rank, deadline, stopped, reply, &fetched.fd));
  const auto expected = fd_wire::prove(secret, Side::kServer, hello.nonce, request);
  if (reply.magic != fd_wire::kReply || !fd_wire::same_proof(reply.proof, expected) || !fetched.fd)
    return error(Code::kRemoteError,
                 "rank {} refused: it is not in this communicator, or its secret differs", rank);
  ucred peer{};
  socklen_t peer_bytes = sizeof peer;
  if (getsockopt(line, SOL_SOCKET, SO_PEERCRED, &peer, &peer_bytes) == 0)
    fetched.process = peer.pid;
  return fetched;
}

Result<std::unique_ptr<PeerLine>> PeerLine::watch(UniqueFd line, int rank, int process,
                                                  Callback callback) {
  std::unique_ptr<PeerLine> watch(new PeerLine);
  STRAIT_ASSIGN(watch->reactor_, Reactor::get());
  watch->rank_ = rank;
  watch->process_ = process;
  watch->callback_ = std::move(callback);
  PeerLine* self = watch.get();
  watch->line_ = std::move(line);
  if (process > 0 && process != getpid()) {
    watch->process_fd_ = UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
    // Old kernels have no process descriptors; the line alone then tells.
    if (!watch->process_fd_ && errno == ESRCH) return self->death();
  }
  if (watch->process_fd_)
    STRAIT_TRY(
        self->reactor_->add(self->process_fd_.get(), EPOLLIN, [self](uint32_t) { self->ended(); }));
  STRAIT_TRY(self->reactor_->add(self->line_.get(), EPOLLIN, [self](uint32_t) {
    std::byte next{};
    const ssize_t length = recv(self->line_.get(), &next, 1, MSG_PEEK | MSG_DONTWAIT);
    if (length >= 0 || errno != EAGAIN) self->ended();
  }));
  return watch;
}

PeerLine::~PeerLine() {
  if (reactor_ && line_) reactor_->remove(line_.get());
  if (reactor_ && process_fd_) reactor_->remove(process_fd_.get());
}

Status PeerLine::death() const {
  return error(Code::kRemoteError, "rank {} (process {}) died", rank_, process_);
}

void PeerLine::ended() {
  fd_wire::Goodbye packet{};
  const ssize_t length = fd_wire::receive_packet(line_.get(), packet);
  const bool left = length == sizeof packet && packet.magic == fd_wire::kGoodbye;
  reactor_->remove(line_.get());
  if (process_fd_) reactor_->remove(process_fd_.get());
  callback_(left ? error(Code::kRemoteError, "rank {} (process {}) left the communicator", rank_,
                         process_)
                 : death());
}

}  // namespace strait
