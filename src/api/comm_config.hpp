// ncclConfig_t as callers of any NCCL version pass it: checked, never trusted beyond its stated
// size. Pure.
#pragma once

#include "base/status.hpp"
#include "nccl.h"

namespace strait::api {

// Ok for null. Fields that the caller's version did not have are not looked at (old padding may
// hold anything). All calls complete before they return whatever `blocking` says, which NCCL's
// contract allows.
Status check_comm_config(const ncclConfig_t* config);

}  // namespace strait::api
