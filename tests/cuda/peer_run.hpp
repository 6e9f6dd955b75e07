// Runs the other process of these tests (peer/peer.cpp) with what it needs in its environment, and
// keeps what it printed; it has a time limit of its own. Any thread.
#pragma once

#include <string>

#include "perf/run_command.hpp"

namespace strait::cuda::test {

using perf::Finished;

inline Finished run_peer(const std::string& role, const std::string& environment = "") {
  return perf::run_command("env -u STRAIT_STANDIN_FABRIC " + environment +
                           " " STRAIT_BINARY_DIR "/standin/cuda_peer " + role);
}

}  // namespace strait::cuda::test
