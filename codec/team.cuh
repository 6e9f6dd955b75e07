// Who works on a chunk together: one warp, or several of a block, which meet at a barrier of their
// own. Device code.
#pragma once

#include "codec/words.cuh"

namespace strait::codec::gpu {

template <int kWarpCount>
struct Team {
  static constexpr uint32_t kWarps = kWarpCount;
  static constexpr uint32_t kThreads = kWarps * kWarpLanes;

  uint32_t warp;     // of this thread, within the team
  uint32_t barrier;  // 1 to 15, no other team's; unused when the team is one warp

  __device__ __forceinline__ uint32_t thread() const {
    return warp * kWarpLanes + device::lane_id();
  }
  // What any thread wrote before, all threads see afterwards.
  __device__ __forceinline__ void sync() const {
    if constexpr (kWarps == 1)
      __syncwarp();
    else
      device::named_barrier(barrier, kThreads);
  }
};

}  // namespace strait::codec::gpu
