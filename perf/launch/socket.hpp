// Blocking-style reads and writes on non-blocking sockets, every one with a deadline, for the
// rendezvous of processes. Each socket belongs to one thread at a time.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "base/status.hpp"

namespace strait::perf {

// Listens on the port of every address, IPv6 and IPv4; an error that names `variable` when the port
// is taken.
Result<UniqueFd> listen_on(int port, const char* variable);
// One waiting connection, or an empty descriptor when none comes before the deadline.
Result<UniqueFd> accept_one(int listener, Deadline deadline);
// Tries until somebody listens there or the deadline passes.
Result<UniqueFd> connect_to(const std::string& address, int port, Deadline deadline);

Status send_all(int fd, std::span<const std::byte> bytes, Deadline deadline);
Status recv_all(int fd, std::span<std::byte> bytes, Deadline deadline);

}  // namespace strait::perf
