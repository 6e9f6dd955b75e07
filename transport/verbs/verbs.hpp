// The transport between any two ranks whose hosts have RDMA ports that reach each other (InfiniBand
// or RoCE): reliable connections over libibverbs. A link is one queue pair, and one TCP connection
// beside it, by which the peer proves the communicator's secret, shows that it lives, and says why
// when it aborts. Where a host has no such port, the transport opens all the same and reaches
// nobody. One instance per communicator and rank; thread rules as in transport.hpp.
#pragma once

#include <memory>

#include "transport/transport.hpp"

namespace strait {

Result<std::unique_ptr<Transport>> open_verbs(const TransportContext& context);

}  // namespace strait
