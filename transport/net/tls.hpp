// TLS 1.3 with a key that both processes were given beforehand (PSK), in place of certificates. The
// key proves either side to the other; what is sent is encrypted under fresh keys of the
// connection. A TlsKey makes sessions; a session is one end of one connection: send() and receive()
// move what the socket takes or has, and do the handshake on the way. Nothing waits. Sessions may
// be used by several threads, one lock each.
#pragma once

#include <sys/uio.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace strait::net {

enum class Side { kCaller, kListener };

class TlsSession {
 public:
  virtual ~TlsSession() = default;
  // As sendmsg() and recvmsg(), with errno: EAGAIN when the socket has to become ready first,
  // EPROTO when the encryption failed (problem() says why). A received count below what was asked
  // for means that no more has come.
  virtual ssize_t send(std::span<const iovec> pieces) = 0;
  virtual ssize_t receive(std::span<const iovec> pieces) = 0;
  // A record is half sent: the next send() must begin with the same bytes.
  virtual bool begun() const = 0;
  virtual std::string problem() const = 0;
};

class TlsKey {
 public:
  // Fails where this build or this machine has no OpenSSL.
  static Result<std::shared_ptr<const TlsKey>> make(std::string_view shared_key);
  virtual ~TlsKey() = default;
  virtual Result<std::unique_ptr<TlsSession>> session(int fd, Side side) const = 0;
};

// The key of all connections that this process makes from now on; null: they are not encrypted.
void set_process_key(std::shared_ptr<const TlsKey> key);
std::shared_ptr<const TlsKey> process_key();

}  // namespace strait::net
