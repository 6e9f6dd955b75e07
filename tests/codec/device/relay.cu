// What a rank in the middle of a ring does: a chunk comes, own values are added, and a chunk
// leaves, in one pass and by one warp.
#include "codec/add_sink.cuh"
#include "codec/chunk_encode.cuh"
#include "codec/chunk_source.cuh"
#include "codec/device.hpp"

namespace strait::codec::gpu {
namespace {

template <DataType kType, bool kDense>
__device__ __forceinline__ void relay_jobs(const DecodeJob* from, const EncodeJob* to,
                                           uint32_t count, std::byte* scratch_memory) {
  using RelayCut = Cut<kType>;
  __shared__ EncodeShared<1> shared[kCodecTeams];
  __shared__ uint4 lanes[kCodecTeams][kWarpLanes];
  const uint32_t warp = threadIdx.x / 32;
  if (warp >= kCodecTeams) return;
  const Team<1> team = {0, 0};
  const uint32_t place = blockIdx.x * kCodecTeams + warp;
  Scratch scratch;
  scratch.lists = scratch_memory + encode_scratch_bytes(DataType::kFloat32) / kCodecTeams * place;
  scratch.low = reinterpret_cast<uint32_t*>(scratch.lists + list_room(shape_of(kType)));
  scratch.exponents = reinterpret_cast<uint32_t*>(device::dynamic_shared()) + kExponentWords * warp;
  for (uint32_t i = team.thread(); i < kExponentWords; i += 32) scratch.exponents[i] = 0;
  for (uint32_t i = team.thread(); i < kLowWords; i += 32) scratch.low[i] = 0;
  team.sync();
  const Encoder<kDense> encoder = {kEncodeTables};
  for (uint32_t i = place; i < count; i += gridDim.x * kCodecTeams) {
    const ChunkForm form = {to[i].type, to[i].mode, to[i].checksum, to[i].count, RelayCut::kBytes};
    const auto* const chunk = static_cast<const std::byte*>(from[i].chunk);
    const OpenedChunk opened =
        open_chunk(team, shared[warp].reduced, chunk, from[i].chunk_bytes, form, true);
    uint32_t fault = static_cast<uint32_t>(opened.fault), bytes = 0;
    if (opened.fault == Fault::kNone) {
      ChunkSource<RelayCut> came(kDecodeTables, lanes[warp], chunk, opened, form.count);
      AddSource<kType, ChunkSource<RelayCut>> sums(from[i].values, came);
      ChunkEncoder<RelayCut, Team<1>, Encoder<kDense>> leaving(encoder, team, shared[warp],
                                                               scratch);
      bytes = leaving.encode(sums, form, true, static_cast<std::byte*>(to[i].chunk));
      if (!came.sound()) fault = static_cast<uint32_t>(Fault::kTile);
    }
    if (team.thread() == 0) {
      *from[i].fault = fault;
      *to[i].chunk_bytes = bytes;
    }
  }
}

}  // namespace

#define STRAIT_KERNEL(mode, dense, name, type)                                          \
  extern "C" __global__ void __launch_bounds__(kCodecThreads) relay_##mode##_##name(    \
      const DecodeJob* from, const EncodeJob* to, uint32_t count, std::byte* scratch) { \
    relay_jobs<DataType::type, dense>(from, to, count, scratch);                        \
  }                                                                                     \
  STRAIT_SIMT_KERNEL(relay_##mode##_##name);
STRAIT_KERNEL(fast, false, bfloat16, kBfloat16)
STRAIT_KERNEL(dense, true, bfloat16, kBfloat16)
STRAIT_KERNEL(fast, false, float, kFloat32)
STRAIT_KERNEL(dense, true, float, kFloat32)
#undef STRAIT_KERNEL

}  // namespace strait::codec::gpu
