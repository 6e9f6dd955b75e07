// ExitCode: how a measuring program ends, in nccl-tests' numbers, so that scripts made for those
// programs read ours. A plain value; any thread; no cost.
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
