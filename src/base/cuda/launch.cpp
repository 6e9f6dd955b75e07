#include "base/cuda/launch.hpp"

#include <array>

namespace strait::cuda {

Status launch(const Kernel& kernel, const LaunchShape& shape, StreamHandle stream,
              void** arguments) {
  std::array<LaunchAttribute, 2> attributes{};
  unsigned count = 0;
  if (shape.cooperative) {
    attributes[count].id = kLaunchCooperative;
    attributes[count++].value.cooperative = 1;
  }
  if (shape.cluster > 1) {
    attributes[count].id = kLaunchClusterDimension;
    attributes[count].value.cluster[0] = shape.cluster;
    attributes[count].value.cluster[1] = 1;
    attributes[count++].value.cluster[2] = 1;
  }
  LaunchConfig config{};
  config.grid_x = shape.blocks;
  config.grid_y = config.grid_z = 1;
  config.block_x = shape.threads;
  config.block_y = config.block_z = 1;
  config.shared_bytes = shape.shared_bytes;
  config.stream = stream;
  config.attributes = attributes.data();
  config.attribute_count = count;
  const Driver& driver = kernel.driver();
  const int code = driver.cuLaunchKernelEx.code(&config, kernel.get(), arguments, nullptr);
  return code == kSuccess ? Status()
                          : failure("cuLaunchKernelEx", code).at("kernel " + kernel.name());
}

}  // namespace strait::cuda
