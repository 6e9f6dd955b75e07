// The transport between any two ranks that a TCP connection joins. A link is one connection, or as
// many as STRAIT_SOCKETS says, through the one listening port of the process; each proves the
// communicator's secret before it carries a byte. One instance per communicator and rank; thread
// rules as in transport.hpp.
#pragma once

#include <memory>

#include "transport/transport.hpp"

namespace strait {

Result<std::unique_ptr<Transport>> open_tcp(const TransportContext& context);

}  // namespace strait
