// Listener: the one listening port of a process. Every connection must complete the handshake
// within five seconds; then it goes to whoever serves its communicator, service and rank. A
// stranger is closed, told in one log line, and disturbs nobody: nothing blocks, and a connection
// that has not proved itself costs a descriptor and some 300 bytes.
//
// Shared by the communicators and bootstrap roots of the process, which keep it alive; get() and
// serve() from any thread; everything else happens on the reactor's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "transport/net/address.hpp"
#include "transport/net/handshake.hpp"
#include "transport/net/stream.hpp"

namespace strait::net {

// Where a connection wants to go.
struct ServiceKey {
  uint64_t key = 0;  // the communicator's
  Service service = Service::kPing;
  int rank = 0;  // that serves

  auto operator<=>(const ServiceKey&) const = default;
};

// A connection that has proved itself; its bytes after the proof are still unread. Non-blocking.
struct Caller {
  Stream fd;
  Address local;
  Address remote;
  int rank = 0;
  Note note{};
  Hash session{};  // a key that only the two ends of this connection know
};

using CallerHandler = std::function<void(Caller)>;

// While it lives, the handler gets the service's callers, on the reactor's thread. After it is
// gone, the handler is not running and never runs again (within the handler: it does not run
// again).
class Registration {
 public:
  virtual ~Registration() = default;
};

class Listener {
 public:
  // The process's listener on a port of the range ("40000-40050"; empty: any port), opened if there
  // is none.
  static Result<std::shared_ptr<Listener>> get(const std::string& port_range);
  // The process's listener on exactly this address, for a fixed meeting point.
  static Result<std::shared_ptr<Listener>> at(const Address& address);

  virtual ~Listener() = default;
  virtual uint16_t port() const = 0;
  // Fails when the same service is served already.
  virtual Result<std::unique_ptr<Registration>> serve(const ServiceKey& where,
                                                      std::span<const std::byte> secret,
                                                      CallerHandler handler) = 0;
};

}  // namespace strait::net
