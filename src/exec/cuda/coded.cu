// The kernels of collectives with coded edges, one per float type: what leaves the domain is
// encoded straight into the send slot, what arrives is decoded from the receive slot. The name is
// strait_coded_ and the type's.

#include "exec/cuda/call.cuh"
#include "exec/cuda/coder.cuh"

#define STRAIT_CODED(name, Number, type)                                                          \
  extern "C" __global__ void __launch_bounds__(strait::kCodedThreads, 1)                          \
      strait_coded_##name(const __grid_constant__ strait::DeviceCall call) {                      \
    strait::gpu::run_call<strait::gpu::Number, strait::gpu::DeviceCoder<strait::DataType::type>>( \
        call);                                                                                    \
  }                                                                                               \
  STRAIT_SIMT_KERNEL(strait_coded_##name)

STRAIT_CODED(half, Float16, kFloat16);
STRAIT_CODED(bfloat16, Bfloat16, kBfloat16);
STRAIT_CODED(float, Float32, kFloat32);
STRAIT_CODED(double, Float64, kFloat64);
STRAIT_CODED(f8e4m3, Float8e4m3, kFloat8e4m3);
STRAIT_CODED(f8e5m2, Float8e5m2, kFloat8e5m2);
