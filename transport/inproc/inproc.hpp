// The transport between ranks that are threads of one process: rings in ordinary memory, met
// through a registry of the process. The address is a key into that registry; another process finds
// nothing under it, and that is how it learns that it is not reached. One instance per communicator
// and rank; thread rules as in transport.hpp.
#pragma once

#include <memory>

#include "transport/transport.hpp"

namespace strait {

Result<std::unique_ptr<Transport>> open_inproc(const TransportContext& context);

}  // namespace strait
