// The transport between processes of one host: rings in shared memory that the sender makes and the
// receiver fetches through the exchange of file descriptors. A rank publishes the memory of its
// doorbell, so that the other side can wake it; the line left open by fetching it tells when the
// other process dies. Nothing has a name in a file system, so nothing is left behind. One instance
// per communicator and rank; thread rules as in transport.hpp. TransportContext::doorbell_fd must
// be memory made by SharedMemory::create.
#pragma once

#include <memory>

#include "transport/transport.hpp"

namespace strait {

Result<std::unique_ptr<Transport>> open_shm(const TransportContext& context);

}  // namespace strait
