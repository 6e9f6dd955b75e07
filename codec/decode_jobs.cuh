// What the decoding kernels have in common: their teams take jobs in turn, and hand the values to a
// sink made of the job's pointer. Device code; every thread of the block.
#pragma once

#include "codec/chunk_decode.cuh"
#include "codec/kernel_frame.cuh"

namespace strait::codec::gpu {

template <DataType kType, class Sink>
__device__ __forceinline__ void decode_jobs(const DecodeJob* jobs, uint32_t count) {
  __shared__ DecodeTables tables;
  __shared__ DecodeShared<KernelTeam::kWarps> shared[kCodecTeams];
  copy_tables(kDecodeTables, tables);
  const TeamPlace place;
  each_job(place, jobs, count, [&](const DecodeJob& job) {
    const ChunkDecoder<Cut<kType>, KernelTeam> chunk(tables, place.team, shared[place.of_block]);
    const ChunkForm form = {job.type, Mode::kDense, false, job.count, Cut<kType>::kBytes};
    const Fault fault = chunk.decode(static_cast<const std::byte*>(job.chunk), job.chunk_bytes,
                                     form, job.type == kType, Sink(job.values));
    if (place.team.thread() == 0) *job.fault = static_cast<uint32_t>(fault);
  });
}

}  // namespace strait::codec::gpu
