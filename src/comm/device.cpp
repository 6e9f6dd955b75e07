#include "comm/device.hpp"

#include "base/cuda/context.hpp"

namespace strait {

Result<Device> device_of_caller(const Config& config, std::optional<int> ordinal) {
  const Device host{.ordinal = ordinal.value_or(0), .gpu = false};
  if (config.device == "host") return host;
  // A program that uses CUDA is told what is wrong with the driver; any other runs on the host.
  const bool ready = cuda::driver_state() == cuda::DriverState::kReady;
  if (config.device == "auto" && !ready && !cuda::caller_has_context()) return host;
  STRAIT_ASSIGN(const cuda::Driver* driver, cuda::driver());
  STRAIT_ASSIGN(const cuda::ContextHandle context, cuda::current_context(*driver));
  if (config.device == "auto" && context == nullptr) return host;
  int gpu = ordinal.value_or(0);
  if (!ordinal && context != nullptr) {
    STRAIT_ASSIGN(gpu, cuda::device_of(*driver, context));
  }
  if (gpu >= driver->device_count)
    return error(Code::kInvalidArgument, "GPU {} is asked for but there are {} (0 to {})", gpu,
                 driver->device_count, driver->device_count - 1);
  return Device{.ordinal = gpu, .gpu = true};
}

}  // namespace strait
