// ncclConfig_t as callers of any NCCL version pass it: checked, never trusted beyond its stated
// size and version. Pure.
#pragma once

#include "base/config.hpp"
#include "base/status.hpp"
#include "nccl.h"

namespace strait::api {

// Fills in what the environment left open. Null changes nothing. Fields that the caller's version
// did not have are not looked at (old padding may hold anything); those that mean nothing to a host
// are checked and then ignored.
Status apply_comm_config(const ncclConfig_t* options, Config& config);

}  // namespace strait::api
