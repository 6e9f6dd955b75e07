// dial: opens a connection to a service of another process, whose host has several addresses of
// which some may not be reachable from here. Tries them in order, the next one 250 ms after the
// last or at once when that failed; the first that connects and completes the handshake wins.
// Blocks the calling thread up to the deadline; not for the reactor's thread.
#pragma once

#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/status.hpp"
#include "transport/net/listener.hpp"

namespace strait::net {

struct Destination {
  std::vector<Address> candidates;
  ServiceKey service;
  int from = 0;  // rank that calls
  Note note{};
};

struct Connection {
  Stream fd;  // non-blocking
  Address local;
  Address remote;
  Hash session{};
};

// The error lists every address with its reason. Code::kRemoteError when every address gave a
// definite answer (nobody listens, another process listens); Code::kTimeout when some did not
// answer, so that trying again may help.
Result<Connection> dial(const Destination& destination, std::span<const std::byte> secret,
                        Deadline deadline);

}  // namespace strait::net
