// Stream: one end of a TCP connection: the socket, and its encryption where the process has a key.
// Moves bytes as the socket would, without ever waiting. Movable, one owner; one thread at a time,
// or several where one only sends and another only receives.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/fd.hpp"
#include "transport/net/tls.hpp"

namespace strait::net {

class Stream {
 public:
  Stream() = default;
  // Not encrypted.
  Stream(UniqueFd fd) : fd_(std::move(fd)) {}  // NOLINT: implicit by design
  // Encrypted with the key, or not where it is null.
  static Result<Stream> over(UniqueFd fd, Side side, const std::shared_ptr<const TlsKey>& key);

  int get() const { return fd_.get(); }
  explicit operator bool() const { return static_cast<bool>(fd_); }
  void reset() { *this = Stream(); }
  bool encrypted() const { return tls_ != nullptr; }

  // As sendmsg() and recvmsg() with MSG_DONTWAIT and MSG_NOSIGNAL: a count, or -1 and errno.
  ssize_t send(std::span<const iovec> pieces);
  ssize_t receive(std::span<const iovec> pieces);
  ssize_t send(std::span<const std::byte> bytes);
  ssize_t receive(std::span<std::byte> bytes);
  // What was offered to send() last is half on its way: it must be offered again.
  bool begun() const { return tls_ && tls_->begun(); }
  // Takes what has come and throws it away: closing then does not take back what was sent.
  void discard();
  // Why the encryption failed; empty where it did not.
  std::string problem() const { return tls_ ? tls_->problem() : std::string(); }

 private:
  UniqueFd fd_;
  std::unique_ptr<TlsSession> tls_;  // ends before its socket
};

}  // namespace strait::net
