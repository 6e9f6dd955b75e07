// The device codec by teams that the stand-alone kernels do not have: one warp that does all, with
// its scratch in global memory, and five.
#include "codec/add_sink.cuh"
#include "codec/chunk_decode.cuh"
#include "codec/chunk_encode.cuh"
#include "codec/device.hpp"

namespace strait::codec::gpu {
namespace {

template <DataType kType, int kWarps, bool kDense>
__device__ __forceinline__ void encode_with_teams(const EncodeJob* jobs, uint32_t count,
                                                  std::byte* scratch_memory) {
  constexpr uint32_t kTeams = kCodecThreads / (32 * kWarps);
  // There is scratch for as many teams as the stand-alone kernels have.
  constexpr uint32_t kBusy = kTeams < kCodecTeams ? kTeams : kCodecTeams;
  __shared__ EncodeShared<kWarps> shared[kBusy];
  const uint32_t of_block = threadIdx.x / (32 * kWarps);
  const Team<kWarps> team = {threadIdx.x / 32 % kWarps, 1 + of_block};
  if (of_block >= kBusy) return;
  Scratch scratch;
  scratch.lists = scratch_memory + encode_scratch_bytes(DataType::kFloat32) / kCodecTeams *
                                       (blockIdx.x * kBusy + of_block);
  scratch.low = reinterpret_cast<uint32_t*>(scratch.lists + list_room(shape_of(kType)));
  scratch.exponents =
      reinterpret_cast<uint32_t*>(device::dynamic_shared()) + kExponentWords * of_block;
  for (uint32_t i = team.thread(); i < kExponentWords; i += team.kThreads) scratch.exponents[i] = 0;
  for (uint32_t i = team.thread(); i < kLowWords; i += team.kThreads) scratch.low[i] = 0;
  team.sync();
  const Encoder<kDense> encoder = {kEncodeTables};
  for (uint32_t i = blockIdx.x * kBusy + of_block; i < count; i += gridDim.x * kBusy) {
    const EncodeJob& job = jobs[i];
    ChunkEncoder<Cut<kType>, Team<kWarps>, Encoder<kDense>> chunk(encoder, team, shared[of_block],
                                                                  scratch);
    MemorySource<Cut<kType>::kBytes> source(job.values);
    const uint32_t bytes =
        chunk.encode(source, {job.type, job.mode, job.checksum, job.count, Cut<kType>::kBytes},
                     job.type == kType, static_cast<std::byte*>(job.chunk));
    if (team.thread() == 0) *job.chunk_bytes = bytes;
  }
}

template <DataType kType, int kWarps>
__device__ __forceinline__ void decode_with_teams(const DecodeJob* jobs, uint32_t count) {
  constexpr uint32_t kTeams = kCodecThreads / (32 * kWarps);
  __shared__ DecodeShared<kWarps> shared[kTeams];
  const uint32_t of_block = threadIdx.x / (32 * kWarps);
  const Team<kWarps> team = {threadIdx.x / 32 % kWarps, 1 + of_block};
  for (uint32_t i = blockIdx.x * kTeams + of_block; i < count; i += gridDim.x * kTeams) {
    const DecodeJob& job = jobs[i];
    const ChunkDecoder<Cut<kType>, Team<kWarps>> chunk(kDecodeTables, team, shared[of_block]);
    const Fault fault = chunk.decode(static_cast<const std::byte*>(job.chunk), job.chunk_bytes,
                                     {job.type, Mode::kDense, false, job.count, Cut<kType>::kBytes},
                                     job.type == kType, MemorySink<Cut<kType>::kBytes>(job.values));
    if (team.thread() == 0) *job.fault = static_cast<uint32_t>(fault);
  }
}

}  // namespace

#define STRAIT_ENCODE(warps, mode, dense, name, type)                                              \
  extern "C" __global__ void __launch_bounds__(kCodecThreads) encode_by_##warps##_##mode##_##name( \
      const EncodeJob* jobs, uint32_t count, std::byte* scratch) {                                 \
    encode_with_teams<DataType::type, warps, dense>(jobs, count, scratch);                         \
  }                                                                                                \
  STRAIT_SIMT_KERNEL(encode_by_##warps##_##mode##_##name);
#define STRAIT_KERNELS(warps, name, type)                                 \
  STRAIT_ENCODE(warps, fast, false, name, type)                           \
  STRAIT_ENCODE(warps, dense, true, name, type)                           \
  extern "C" __global__ void __launch_bounds__(kCodecThreads)             \
      decode_by_##warps##_##name(const DecodeJob* jobs, uint32_t count) { \
    decode_with_teams<DataType::type, warps>(jobs, count);                \
  }                                                                       \
  STRAIT_SIMT_KERNEL(decode_by_##warps##_##name);
STRAIT_KERNELS(1, bfloat16, kBfloat16)
STRAIT_KERNELS(1, float, kFloat32)
STRAIT_KERNELS(5, bfloat16, kBfloat16)
STRAIT_KERNELS(5, float, kFloat32)
#undef STRAIT_KERNELS
#undef STRAIT_ENCODE

}  // namespace strait::codec::gpu
