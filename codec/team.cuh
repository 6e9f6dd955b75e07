// Who works on a chunk together: one warp, or several of a block, which meet at a barrier of their
// own. Device code.
#pragma once

#include "codec/words.cuh"

namespace strait::codec::gpu {

// The same in all lanes, and kept, where compilers would rather make it again.
__device__ __forceinline__ uint32_t kept(uint32_t value) {
  return from_lane(value, 0);
}
template <class T>
__device__ __forceinline__ T* kept(T* pointer) {
  const auto bits = reinterpret_cast<uintptr_t>(pointer);
  const uint64_t low = kept(static_cast<uint32_t>(bits));
  return reinterpret_cast<T*>(low | uint64_t{kept(static_cast<uint32_t>(bits >> 32))} << 32);
}

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
