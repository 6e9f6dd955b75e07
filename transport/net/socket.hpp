// How every TCP socket of Strait is set up, and its two ends as text. Any thread; nothing here
// blocks.
#pragma once

#include <cstdint>

#include "base/fd.hpp"
#include "base/status.hpp"
#include "transport/net/address.hpp"

namespace strait::net {

// A non-blocking, close-on-exec stream socket.
Result<UniqueFd> open_socket(int family);
// No delay, keepalive: a silent peer host is noticed within a minute. The buffers are left to the
// kernel, which grows them as the connection needs.
void tune_socket(int fd);
// Gives up a connection whose sent bytes nobody acknowledged for so long.
void limit_unacknowledged(int fd, int64_t timeout_ms);
// The traffic class (TOS) of what the socket sends; -1 leaves the system's.
void set_traffic_class(int fd, int64_t traffic_class);
Address local_address(int fd);
Address remote_address(int fd);

}  // namespace strait::net
