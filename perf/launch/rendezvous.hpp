// Rendezvous: processes that were started by something that only sets variables meet over TCP at
// MASTER_ADDR:MASTER_PORT. Process 0 listens and every other connects; all exchanges go over
// process 0. A watcher thread per process sees when a connection ends out of turn, and ends the
// process, so that one death ends the measurement everywhere.
#pragma once

#include "perf/launch/launcher.hpp"

namespace strait::perf {

struct RendezvousLimits {
  int64_t exchange_ms = 3'600'000;  // one exchange: others may still be measuring
  int64_t grace_ms =
      3'000;  // from a peer's death to ours: the library's own verdict may come first
};

Result<std::unique_ptr<Launcher>> launch_rendezvous(const LaunchEnvironment& environment,
                                                    const RendezvousLimits& limits);

}  // namespace strait::perf
