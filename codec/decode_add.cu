// Kernels that decode arrays of chunks and add them to values (device.hpp says how to launch them).
#include "codec/add_sink.cuh"
#include "codec/decode_jobs.cuh"

namespace strait::codec::gpu {

#define STRAIT_KERNEL(name, type)                                       \
  extern "C" __global__ void __launch_bounds__(kCodecThreads, 1)        \
      strait_decode_add_##name(const DecodeJob* jobs, uint32_t count) { \
    decode_jobs<DataType::type, AddSink<DataType::type>>(jobs, count);  \
  }                                                                     \
  STRAIT_SIMT_KERNEL(strait_decode_add_##name);
STRAIT_CODEC_FLOATS(STRAIT_KERNEL)
#undef STRAIT_KERNEL

}  // namespace strait::codec::gpu
