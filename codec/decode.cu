// Kernels that decode arrays of chunks (device.hpp says how to launch them).
#include "codec/chunk_decode.cuh"
#include "codec/kernel_frame.cuh"

namespace strait::codec::gpu {
namespace {

template <DataType kType>
__device__ __forceinline__ void decode_jobs(const DecodeJob* jobs, uint32_t count) {
  using KernelCut = Cut<kType>;
  __shared__ DecodeTables tables;
  __shared__ DecodeShared<KernelTeam::kWarps> shared[kCodecTeams];
  copy_tables(kDecodeTables, tables);
  const TeamPlace place;
  each_job(place, jobs, count, [&](const DecodeJob& job) {
    const ChunkDecoder<KernelCut, KernelTeam> chunk(tables, place.team, shared[place.of_block]);
    const ChunkForm form = {job.type, Mode::kDense, false, job.count};
    const Fault fault =
        chunk.decode(static_cast<const std::byte*>(job.chunk), job.chunk_bytes, form,
                     job.type == kType, MemorySink<KernelCut::kBytes>(job.values));
    if (place.team.thread() == 0) *job.fault = static_cast<uint32_t>(fault);
  });
}

}  // namespace

#define STRAIT_KERNEL(name, type)                                   \
  extern "C" __global__ void __launch_bounds__(kCodecThreads, 1)    \
      strait_decode_##name(const DecodeJob* jobs, uint32_t count) { \
    decode_jobs<DataType::type>(jobs, count);                       \
  }                                                                 \
  STRAIT_SIMT_KERNEL(strait_decode_##name);
STRAIT_CODEC_TYPES(STRAIT_KERNEL)
#undef STRAIT_KERNEL

}  // namespace strait::codec::gpu
