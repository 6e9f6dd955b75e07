// Kernels that decode arrays of chunks (device.hpp says how to launch them).
#include "codec/decode_jobs.cuh"

namespace strait::codec::gpu {

#define STRAIT_KERNEL(name, type)                                                               \
  extern "C" __global__ void __launch_bounds__(kCodecThreads, 1)                                \
      strait_decode_##name(const DecodeJob* jobs, uint32_t count) {                             \
    decode_jobs<DataType::type, MemorySink<shape_of(DataType::type).value_bytes>>(jobs, count); \
  }                                                                                             \
  STRAIT_SIMT_KERNEL(strait_decode_##name);
STRAIT_CODEC_TYPES(STRAIT_KERNEL)
#undef STRAIT_KERNEL

}  // namespace strait::codec::gpu
