// Launching under an MPI through its module (module.h): a shared object beside the programs, opened
// at run time.
#pragma once

#include "perf/launch/launcher.hpp"

namespace strait::perf {

// kOpenMpi or kMpich. An error where this build has no module for it.
Result<std::unique_ptr<Launcher>> launch_mpi(const LaunchEnvironment& environment);

}  // namespace strait::perf
