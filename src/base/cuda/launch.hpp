// Launches a kernel into a stream, and returns at once. Any thread; nothing is allocated. Arguments
// are copied by the driver before it returns. The context of the kernel is the stream's; it must be
// current for a NULL or per-thread stream.
#pragma once

#include "base/cuda/module.hpp"

namespace strait::cuda {

struct LaunchShape {
  unsigned blocks = 1;
  unsigned threads = 1;       // per block
  unsigned shared_bytes = 0;  // dynamic, per block
  bool cooperative = false;   // all blocks at once, or kCooperativeLaunchTooLarge
  unsigned cluster = 1;       // blocks per cluster; divides blocks
};

// arguments[i] points to the i-th parameter of the kernel.
Status launch(const Kernel& kernel, const LaunchShape& shape, StreamHandle stream,
              void** arguments);

// launch_with(kernel, shape, stream, a, b): the types must be exactly those of the kernel.
template <class... Arguments>
Status launch_with(const Kernel& kernel, const LaunchShape& shape, StreamHandle stream,
                   Arguments... arguments) {
  void* pointers[] = {static_cast<void*>(&arguments)..., nullptr};
  return launch(kernel, shape, stream, pointers);
}

}  // namespace strait::cuda
