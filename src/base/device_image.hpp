// A kernel source as nvcc compiled it: a fatbin (sm_90, sm_100, and PTX for what comes later) in
// this program's read-only data. strait_cuda_kernels(NAME ...) of tools/cmake makes the object that
// defines device_images_NAME(). Static data for any thread; costs nothing until a driver loads it.
#pragma once

#include <cstddef>
#include <span>

namespace strait {

struct DeviceImage {
  const char* source;  // the name of the .cu file, without folder and suffix
  const void* data;    // for cuModuleLoadData
  size_t bytes;
};

using DeviceImages = std::span<const DeviceImage>;

}  // namespace strait
