// Which thread of which block is running, and the doors from a kernel's builtins into the layer:
// warp operations, barriers, polls. Owned by the OS thread that carries the block. Reading a place
// costs a load or two; a warp operation or barrier costs one fibre switch per thread.
#pragma once

#include <cstdint>

#include "cuda_vectors.hpp"

namespace strait::simt {

struct ThreadPlace {
  uint3 index;
  uint32_t lane;  // within its warp
  uint32_t warp;  // within its block
};

struct BlockPlace {
  uint3 index;
  dim3 block_size;
  dim3 grid_size;
  unsigned char* dynamic_shared;
};

// Of the running fibre. Outside of a launch: thread 0 of a block of one.
extern constinit thread_local const ThreadPlace* thread_place;
extern constinit thread_local BlockPlace block_place;

enum class WarpOp : uint8_t {
  kSync,
  kShuffle,
  kShuffleUp,
  kShuffleDown,
  kShuffleXor,
  kBallot,
  kAny,
  kAll,
  kMatchAny,
  kMatchAll,
  kReduceAdd,
  kReduceMin,
  kReduceMax,
  kReduceAnd,
  kReduceOr,
  kReduceXor,
};

// Waits until all lanes of the mask are here, and gives this lane its result. Shuffles pack their
// argument with pack_shuffle.
uint64_t warp_op(WarpOp op, uint32_t mask, uint64_t value, uint32_t argument = 0);

constexpr uint32_t pack_shuffle(uint32_t argument, uint32_t width) {
  return width << 16 | (argument < 0xffff ? argument : 0xffff);
}

enum class BarrierVote : uint8_t { kNone, kCount, kAnd, kOr };

// bar.sync: waits until so many threads have come to the barrier of this number; 0 threads: all.
uint32_t barrier(uint32_t id, uint32_t threads, BarrierVote vote, bool predicate);
// bar.arrive: counts as come, and goes on.
void barrier_arrive(uint32_t id, uint32_t threads);

// Around each load that may be one of a loop that waits for memory: the first lets other threads
// run when the last load brought nothing new; the second says what was seen, and where.
void poll_begin();
void poll_end(const void* address, uint64_t seen);
// Memory that others may wait for has changed.
void progress();
// Lets everybody else run first.
void pause();

[[noreturn]] void trap();

}  // namespace strait::simt
