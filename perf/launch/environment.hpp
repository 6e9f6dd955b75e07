// LaunchEnvironment: who started this process and which of how many it is, as the environment
// tells. A value; detecting it reads variables only, so that bad arguments are refused before any
// process waits for another.
#pragma once

#include <functional>
#include <string>

#include "base/status.hpp"

namespace strait::perf {

enum class LaunchKind { kSingle, kTorchrun, kOpenMpi, kMpich, kSlurm };

struct LaunchEnvironment {
  LaunchKind kind = LaunchKind::kSingle;
  int rank = 0;
  int size = 1;
  std::string address;  // where process 0 listens; kTorchrun and kSlurm
  int port = 0;
  int meet_ms = 120'000;  // how long to wait for all processes
};

const char* name_of(LaunchKind kind);

using EnvironmentLookup = std::function<const char*(const char* name)>;

// Open MPI (OMPI_COMM_WORLD_RANK, _SIZE), MPICH and its relatives (PMI_RANK, PMI_SIZE), torchrun or
// the same by hand (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT), Slurm (SLURM_PROCID,
// SLURM_NTASKS), else one process. A half-set or impossible environment is an error that names the
// variable. STRAIT_INIT_TIMEOUT_MS bounds the wait for all processes, as it bounds the library's.
Result<LaunchEnvironment> detect_launch(const EnvironmentLookup& lookup);

// "node[07-12,20],gpu3" -> "node07": the first host of Slurm's node list.
std::string first_host(const std::string& node_list);

}  // namespace strait::perf
