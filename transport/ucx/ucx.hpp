// The transport between any two ranks that UCX joins, over whatever it finds: InfiniBand, RoCE,
// fabrics of Cray and others, TCP. Messages go by UCP's tagged messages; beside each
// link there is a TCP connection, by which the peer proves the communicator's secret, shows that it
// lives, and says why when it aborts. Where there is no UCX, the transport opens all the same and
// reaches nobody. One instance per communicator and rank; thread rules as in transport.hpp.
#pragma once

#include <memory>
#include <string>

#include "transport/transport.hpp"

namespace strait {

Result<std::unique_ptr<Transport>> open_ucx(const TransportContext& context);
// With the UCX in that file.
Result<std::unique_ptr<Transport>> open_ucx_of(const TransportContext& context,
                                               const std::string& library);

}  // namespace strait
