// STRAIT_CHECK: the process stops when a belief of the code itself is wrong (a bug, never bad
// input). Kept on in release. Costs one predicted branch.
#pragma once

namespace strait {

[[noreturn]] void check_failed(const char* condition, const char* why, const char* file, int line);

}  // namespace strait

#define STRAIT_CHECK(condition, why)                               \
  do {                                                             \
    if (!(condition)) [[unlikely]]                                 \
      ::strait::check_failed(#condition, why, __FILE__, __LINE__); \
  } while (false)
