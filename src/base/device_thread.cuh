// Device code about the running thread: its lane, the barriers of its block, time, and the shared
// memory that the launch sized. Part of base/device.cuh; for any thread of a kernel.
#pragma once

#include <cstdint>

#if !defined(STRAIT_SIMT)
// One name for all kernels of a source; 128 is what bulk copies want at most.
extern __shared__ __align__(128) unsigned char strait_dynamic_shared[];
#endif

namespace strait::device {

// The block's dynamic shared memory, aligned to 128 bytes.
__device__ __forceinline__ unsigned char* dynamic_shared() {
#if defined(STRAIT_SIMT)
  return simt::block_place.dynamic_shared;
#else
  return strait_dynamic_shared;
#endif
}

// A block of more than one dimension counts its threads x first, in lanes too.
__device__ __forceinline__ uint32_t lane_id() {
#if defined(STRAIT_SIMT)
  return simt::thread_place->lane;
#else
  uint32_t lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
#endif
}

// The lanes below this one, as a mask. The special register saves the shift.
__device__ __forceinline__ uint32_t lane_mask_lt() {
#if defined(STRAIT_SIMT)
  return (1u << lane_id()) - 1;
#else
  uint32_t mask;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
  return mask;
#endif
}

// Waits until so many threads of the block (a multiple of 32) have come to the barrier of this
// number, 1 to 15; 0 is __syncthreads' own. Groups of warps meet so without stopping the others.
__device__ __forceinline__ void named_barrier(uint32_t id, uint32_t threads) {
#if defined(STRAIT_SIMT)
  simt::barrier(id, threads, simt::BarrierVote::kNone, false);
#else
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
#endif
}

// Counts as come to the barrier and goes on: for the one who produces what others wait for.
__device__ __forceinline__ void named_barrier_arrive(uint32_t id, uint32_t threads) {
#if defined(STRAIT_SIMT)
  simt::barrier_arrive(id, threads);
#else
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
#endif
}

// Sleeps about so long, at most a millisecond: between polls, so that they leave the memory alone.
__device__ __forceinline__ void nanosleep(uint32_t ns) {
  __nanosleep(ns);
}

// Nanoseconds of a clock that all multiprocessors share; on the GPU it may step in microseconds.
__device__ __forceinline__ uint64_t globaltimer() {
#if defined(STRAIT_SIMT)
  return simt::read_clock();
#else
  uint64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
#endif
}

}  // namespace strait::device
