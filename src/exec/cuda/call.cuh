// What a kernel of a plan does: each block walks the lanes that are its own, one after another,
// with their steps in shared memory. Device code, for a whole block.
#pragma once

#include "exec/cuda/lane.cuh"

namespace strait::gpu {

// Where a block keeps its steps; lanes with more read them where the call has them.
inline constexpr uint32_t kStepsShared = 96;

template <class N, class Coder>
__device__ bool run_lane(const DeviceCall& call, const DeviceLane& lane, LaneShared& shared,
                         typename Coder::Shared& coder_shared, unsigned char* step_bytes) {
  if (threadIdx.x == 0) shared.lane = lane;
  const DeviceStep* steps = call.steps + lane.first_step;
  if (lane.step_count <= kStepsShared) {
    const auto* from = reinterpret_cast<const uint64_t*>(steps);
    auto* to = reinterpret_cast<uint64_t*>(step_bytes);
    for (uint32_t i = threadIdx.x; i < lane.step_count * sizeof(DeviceStep) / 8; i += blockDim.x)
      to[i] = from[i];
    steps = reinterpret_cast<const DeviceStep*>(step_bytes);
  }
  __syncthreads();
  const bool done = Lane<N, Coder>(call, shared.lane, shared, coder_shared).run(steps);
  __syncthreads();
  return done;
}

// What a kernel does. The last block to end says so.
template <class N, class Coder>
__device__ void run_call(const DeviceCall& call) {
  __shared__ LaneShared shared;
  __shared__ typename Coder::Shared coder_shared;
  __shared__ __align__(16) unsigned char step_bytes[kStepsShared * sizeof(DeviceStep)];
  if (blockIdx.x == 0 && threadIdx.x == 0)
    device::store_relaxed(&call.report->started, device::load_relaxed(&call.report->started) + 1);
  Coder::prepare(coder_shared);
  for (uint32_t at = blockIdx.x; at != kNoLane; at = call.lanes[at].next)
    if (!run_lane<N, Coder>(call, call.lanes[at], shared, coder_shared, step_bytes)) break;
  if (threadIdx.x != 0) return;
  __threadfence_system();
  if (atomicAdd(call.arrivals, 1u) + 1 < gridDim.x) return;
  *call.arrivals = 0;  // ready for the next call, which starts after this kernel
  const uint64_t finished = device::load_relaxed(&call.report->finished);
  device::store_release_system(&call.report->finished, finished + 1);
}

}  // namespace strait::gpu
