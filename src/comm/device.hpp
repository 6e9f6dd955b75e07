// Device: what a rank sits on: a host, or one of its GPUs. A value. Which one the caller means is
// asked when a communicator is made: the GPU of the CUDA context that is current in its thread, if
// there is one, as NCCL takes the current device; else the host.
#pragma once

#include <optional>

#include "base/config.hpp"
#include "base/status.hpp"

namespace strait {

struct Device {
  int ordinal = 0;  // among the GPUs of this process, or as the caller numbers host ranks
  bool gpu = false;
};

// `ordinal`: of the GPU, where the caller names one; else the current one.
Result<Device> device_of_caller(const Config& config, std::optional<int> ordinal);

}  // namespace strait
