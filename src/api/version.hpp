// The level of NCCL that this library says it has: that of nccl.h, unless STRAIT_NCCL_VERSION says
// another. Pure; any thread.
#pragma once

#include <string_view>

#include "base/status.hpp"

namespace strait::api {

// "2.28.9" or "22809" as an NCCL_VERSION_CODE.
Result<int> parse_nccl_version(std::string_view text);

}  // namespace strait::api
