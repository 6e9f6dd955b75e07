// ncclCollConfig_t as callers of any NCCL version pass it: checked, never trusted beyond its stated
// size and version. Reads only what the pointers reach; any thread.
#pragma once

#include "comm/operation.hpp"
#include "nccl.h"

namespace strait::api {

struct CallConfig {
  Limits limits;
  WireWishes wires;
};

// Null: the plain call. The options of other vendors are ignored.
Result<CallConfig> read_call_config(const ncclCollConfig_t* config);

}  // namespace strait::api
