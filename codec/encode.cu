// Kernels that encode arrays of chunks (device.hpp says how to launch them).
#include "codec/chunk_encode.cuh"
#include "codec/kernel_frame.cuh"

namespace strait::codec::gpu {
namespace {

static_assert(kEncodeSharedBytes == kCodecTeams * kExponentWords * 4);
static_assert(encode_scratch_bytes(DataType::kFloat32) ==
              kCodecTeams * (list_room(shape_of(DataType::kFloat32)) + 4 * kLowWords));

// The streams' parts of the scratch must be zero to begin with.
__device__ __forceinline__ void clear_words(const KernelTeam& team, uint32_t* words,
                                            uint32_t count) {
  for (uint32_t i = team.thread(); i < count; i += KernelTeam::kThreads) words[i] = 0;
}

template <DataType kType, bool kDense>
__device__ __forceinline__ void encode_jobs(const EncodeJob* jobs, uint32_t count,
                                            std::byte* scratch_memory) {
  using KernelCut = Cut<kType>;
  __shared__ EncodeTables tables;
  __shared__ EncodeShared<KernelTeam::kWarps> shared[kCodecTeams];
  copy_tables(kEncodeTables, tables);
  const TeamPlace place;
  constexpr uint32_t kLists = kTileBlocks * 255 * kSparseListUnit;
  constexpr uint32_t kScratchBytes = encode_scratch_bytes(kType) / kCodecTeams;
  Scratch scratch;
  scratch.lists = scratch_memory + size_t{kScratchBytes} * place.of_grid;
  if constexpr (kDense) {
    scratch.exponents =
        reinterpret_cast<uint32_t*>(device::dynamic_shared()) + kExponentWords * place.of_block;
    clear_words(place.team, scratch.exponents, kExponentWords);
  }
  if constexpr (kDense && kType == DataType::kFloat32) {
    scratch.low = reinterpret_cast<uint32_t*>(scratch.lists + kLists);
    clear_words(place.team, scratch.low, kLowWords);
  }
  place.team.sync();
  const Encoder<kDense> encoder = {tables};
  each_job(place, jobs, count, [&](const EncodeJob& job) {
    ChunkEncoder<KernelCut, KernelTeam, Encoder<kDense>> chunk(encoder, place.team,
                                                               shared[place.of_block], scratch);
    const ChunkForm form = {job.type, job.mode, job.checksum, job.count, KernelCut::kBytes};
    MemorySource<KernelCut::kBytes> source(job.values);
    const uint32_t bytes =
        chunk.encode(source, form, job.type == kType, static_cast<std::byte*>(job.chunk));
    if (place.team.thread() == 0) *job.chunk_bytes = bytes;
  });
}

}  // namespace

#define STRAIT_KERNEL(mode, dense, name, type)                                                   \
  extern "C" __global__ void __launch_bounds__(kCodecThreads, 1)                                 \
      strait_encode_##mode##_##name(const EncodeJob* jobs, uint32_t count, std::byte* scratch) { \
    encode_jobs<DataType::type, dense>(jobs, count, scratch);                                    \
  }                                                                                              \
  STRAIT_SIMT_KERNEL(strait_encode_##mode##_##name);
#define STRAIT_KERNELS(name, type)       \
  STRAIT_KERNEL(fast, false, name, type) \
  STRAIT_KERNEL(dense, true, name, type)
STRAIT_CODEC_TYPES(STRAIT_KERNELS)
#undef STRAIT_KERNELS
#undef STRAIT_KERNEL

}  // namespace strait::codec::gpu
