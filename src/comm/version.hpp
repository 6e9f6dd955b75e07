// The versions of Strait: its own, which all ranks of a communicator must share, and the level of
// NCCL it provides.
#pragma once

namespace strait {

inline constexpr const char* kVersion = "0.1.0";

}  // namespace strait
