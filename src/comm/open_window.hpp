// Registering memory for one-sided calls: collective, one more call of the communicator. Any
// thread, as other calls; costs an all-gather, and the first time a link to every rank.
#pragma once

#include <cstddef>
#include <cstdint>

#include "comm/communicator.hpp"

namespace strait {

// The window's number, the same on all ranks; 0 where GPUs cannot share some rank's memory. A rank
// with something wrong tells its peers, and all fail.
Result<uint32_t> open_window(Communicator& comm, std::byte* base, uint64_t bytes,
                             const Status& wrong);
// Local: peers must not put any more.
void close_window(Communicator& comm, uint32_t number);

}  // namespace strait
