// What a kernel needs of the machine that CUDA C++ has no word for: ordered loads and stores,
// vector accesses of 16 bytes, flagged messages, lanes, named barriers, dynamic shared memory.
// Device code, for any thread of a kernel. Each primitive has two bodies, PTX for nvcc and one for
// the SIMT layer that runs kernels on a CPU in tests; each is an instruction or a few.
#pragma once

#include <cstdint>

#if !defined(__CUDACC__) && !defined(STRAIT_SIMT)
#error "device code: compile it with nvcc, or with g++ for the SIMT layer"
#endif

// STRAIT_SIMT_KERNEL(kernel): makes the kernel known to the SIMT layer by its name, as a fatbin
// does for the driver. Once per kernel, in its source.
#if defined(STRAIT_SIMT)
#define STRAIT_SIMT_KERNEL(kernel)                                     \
  static const ::strait::simt::Registration registration_of_##kernel { \
#kernel, &kernel                                                   \
  }
#else
#define STRAIT_SIMT_KERNEL(kernel) static_assert(true)
#endif

#include "base/device_memory.cuh"
#include "base/device_order.cuh"
#include "base/device_thread.cuh"
