// The frame of the stand-alone kernels: blocks of several teams, each of which takes every so
// manieth job. Device code; every thread of the block.
#pragma once

#include "codec/device.hpp"
#include "codec/team.cuh"

namespace strait::codec::gpu {

using KernelTeam = Team<kCodecTeamWarps>;

// Which team this thread belongs to: of its block, and of the grid.
struct TeamPlace {
  __device__ TeamPlace()
      : of_block(threadIdx.x / KernelTeam::kThreads),
        of_grid(blockIdx.x * kCodecTeams + of_block),
        team{threadIdx.x / kWarpLanes % KernelTeam::kWarps, 1 + of_block} {}
  uint32_t of_block;
  uint32_t of_grid;
  KernelTeam team;
};

// Calls work(job) for every job of this thread's team.
template <class Job, class Work>
__device__ __forceinline__ void each_job(const TeamPlace& place, const Job* jobs, uint32_t count,
                                         Work work) {
  for (uint32_t i = place.of_grid; i < count; i += gridDim.x * kCodecTeams) work(jobs[i]);
}

// The kernels of a source, one for each type with a cut of its own.
#define STRAIT_CODEC_FLOATS(each) \
  each(half, kFloat16) each(bfloat16, kBfloat16) each(float, kFloat32) each(double, kFloat64)
#define STRAIT_CODEC_TYPES(each) \
  STRAIT_CODEC_FLOATS(each) each(f8e4m3, kFloat8e4m3) each(f8e5m2, kFloat8e5m2)

}  // namespace strait::codec::gpu
