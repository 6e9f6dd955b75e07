// ExitCode: how a measuring program ends, in nccl-tests' numbers.
#pragma once

namespace strait::perf {

enum class ExitCode : int {
  kSuccess = 0,
  kInternalError = 1,
  kCudaError = 2,
  kNcclError = 3,
  kTimeout = 4,
  kNotImplemented = 5,
  kInvalidUsage = 6,
  kWrongResults = 7,
};

}  // namespace strait::perf
