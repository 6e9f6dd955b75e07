// Kernels for the tests of the driver seam: each does one thing that a test can see.
#include "base/device.cuh"

using strait::device::load_acquire_system;
using strait::device::store_release_system;

__device__ inline uint32_t here() {
  return blockIdx.x * blockDim.x + threadIdx.x;
}

extern "C" __global__ void seam_fill(uint32_t* target, uint32_t value, uint32_t count) {
  for (uint32_t i = here(); i < count; i += gridDim.x * blockDim.x) target[i] = value;
}

extern "C" __global__ void seam_add(uint32_t* target, uint32_t value, uint32_t count) {
  for (uint32_t i = here(); i < count; i += gridDim.x * blockDim.x) target[i] += value;
}

// Waits until the flag has the value, then answers.
extern "C" __global__ void seam_wait(const uint32_t* flag, uint32_t value, uint32_t* answer) {
  if (here() != 0) return;
  while (load_acquire_system(flag) != value) {
  }
  store_release_system(answer, value);
}

extern "C" __global__ void seam_set(uint32_t* flag, uint32_t value) {
  if (here() == 0) store_release_system(flag, value);
}

// Parameters of several sizes, as one structure and beside it.
struct SeamMix {
  uint64_t a;
  uint8_t b;
};
extern "C" __global__ void seam_mix(uint64_t* target, SeamMix mix, uint16_t c, double d) {
  if (here() == 0) *target = mix.a + mix.b + c + static_cast<uint64_t>(d);
}

extern "C" __global__ void seam_trap() {
  __trap();
}

STRAIT_SIMT_KERNEL(seam_fill);
STRAIT_SIMT_KERNEL(seam_add);
STRAIT_SIMT_KERNEL(seam_wait);
STRAIT_SIMT_KERNEL(seam_set);
STRAIT_SIMT_KERNEL(seam_mix);
STRAIT_SIMT_KERNEL(seam_trap);
