// The kernels of the collectives, one per data type. The name is strait_ and the type's.

#include "exec/cuda/call.cuh"
#include "exec/cuda/coder.cuh"

#define STRAIT_COLLECTIVE(name, Number)                                     \
  extern "C" __global__ void __launch_bounds__(strait::kBlockThreadsMax, 1) \
      strait_##name(const __grid_constant__ strait::DeviceCall call) {      \
    strait::gpu::run_call<strait::gpu::Number, strait::gpu::NoCoder>(call); \
  }                                                                         \
  STRAIT_SIMT_KERNEL(strait_##name)

STRAIT_COLLECTIVE(int8, Int8);
STRAIT_COLLECTIVE(uint8, Uint8);
STRAIT_COLLECTIVE(int32, Int32);
STRAIT_COLLECTIVE(uint32, Uint32);
STRAIT_COLLECTIVE(int64, Int64);
STRAIT_COLLECTIVE(uint64, Uint64);
STRAIT_COLLECTIVE(half, Float16);
STRAIT_COLLECTIVE(float, Float32);
STRAIT_COLLECTIVE(double, Float64);
STRAIT_COLLECTIVE(bfloat16, Bfloat16);
STRAIT_COLLECTIVE(f8e4m3, Float8e4m3);
STRAIT_COLLECTIVE(f8e5m2, Float8e5m2);
