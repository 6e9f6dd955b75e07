// The root of one communicator's bootstrap: collects what every rank says and answers all of them
// together. Lives in the process that made the unique id (rank 0's with a fixed meeting point), on
// the reactor's thread, and ends by itself: when all ranks have left, or when a failure has been
// told to all, at the latest one init timeout after it.
//
//   rank 0   rank 1   rank 2
//       \      |      /          a round: one frame in from each rank, one frame out to each;
//            root                 bytes at the root: n in, n * n out
#pragma once

#include <memory>

#include "base/config.hpp"
#include "base/status.hpp"
#include "comm/unique_id.hpp"
#include "transport/net/listener.hpp"

namespace strait {

// Starts the root of this id behind the listener. A root of the same meeting point that has failed
// makes room.
Status start_bootstrap_root(const UniqueId& id, std::shared_ptr<net::Listener> listener,
                            const Config& config);

// Whether this process hosts a root of this id now.
bool hosts_bootstrap_root(const UniqueId& id);

}  // namespace strait
