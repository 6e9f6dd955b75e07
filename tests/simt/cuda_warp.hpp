// The operations of a warp: shuffles, votes, matches, reductions, __syncwarp; and the barriers of a
// block. Each waits for the lanes of its mask (or the threads of the block), so that it may be
// called from kernels only; it costs one fibre switch per lane, and none in a mask of one.
//
// A lane that reads from a lane outside of the mask gets kUnset, since the GPU promises nothing.
// __activemask names the calling lane alone: of all the answers that the GPU may give, that is the
// one on which no program can lean too hard.
#pragma once

#include <bit>
#include <cstdint>

#include "here.hpp"

namespace strait::simt {

// 4- and 8-byte values travel as 64 bits.
template <class T>
uint64_t to_bits(T value) {
  if constexpr (sizeof(T) == 8) {
    return std::bit_cast<uint64_t>(value);
  } else {
    return std::bit_cast<uint32_t>(value);
  }
}
template <class T>
T from_bits(uint64_t bits) {
  if constexpr (sizeof(T) == 8) {
    return std::bit_cast<T>(bits);
  } else {
    return std::bit_cast<T>(static_cast<uint32_t>(bits));
  }
}

template <class T>
T shuffle(WarpOp op, uint32_t mask, T value, uint32_t argument, int width) {
  const uint32_t packed = pack_shuffle(argument, static_cast<uint32_t>(width));
  return from_bits<T>(warp_op(op, mask, to_bits(value), packed));
}

template <class T>
T reduce(WarpOp op, uint32_t mask, T value) {
  // Widened with its sign, so that one comparison serves both kinds.
  const auto wide = static_cast<uint64_t>(static_cast<int64_t>(value));
  return static_cast<T>(warp_op(op, mask, wide));
}

}  // namespace strait::simt

#define STRAIT_SIMT_SHUFFLES(type)                                                             \
  inline type __shfl_sync(unsigned mask, type value, int lane, int width = 32) {               \
    using namespace strait::simt;                                                              \
    return shuffle(WarpOp::kShuffle, mask, value, static_cast<unsigned>(lane) & 31, width);    \
  }                                                                                            \
  inline type __shfl_up_sync(unsigned mask, type value, unsigned delta, int width = 32) {      \
    return strait::simt::shuffle(strait::simt::WarpOp::kShuffleUp, mask, value, delta, width); \
  }                                                                                            \
  inline type __shfl_down_sync(unsigned mask, type value, unsigned delta, int width = 32) {    \
    using namespace strait::simt;                                                              \
    return shuffle(WarpOp::kShuffleDown, mask, value, delta, width);                           \
  }                                                                                            \
  inline type __shfl_xor_sync(unsigned mask, type value, int bits, int width = 32) {           \
    using namespace strait::simt;                                                              \
    return shuffle(WarpOp::kShuffleXor, mask, value, static_cast<unsigned>(bits), width);      \
  }                                                                                            \
  inline unsigned __match_any_sync(unsigned mask, type value) {                                \
    using namespace strait::simt;                                                              \
    return static_cast<unsigned>(warp_op(WarpOp::kMatchAny, mask, to_bits(value)));            \
  }                                                                                            \
  inline unsigned __match_all_sync(unsigned mask, type value, int* same) {                     \
    using namespace strait::simt;                                                              \
    const uint64_t lanes = warp_op(WarpOp::kMatchAll, mask, to_bits(value));                   \
    *same = lanes != 0;                                                                        \
    return static_cast<unsigned>(lanes);                                                       \
  }
STRAIT_SIMT_SHUFFLES(int)
STRAIT_SIMT_SHUFFLES(unsigned)
STRAIT_SIMT_SHUFFLES(long)
STRAIT_SIMT_SHUFFLES(unsigned long)
STRAIT_SIMT_SHUFFLES(long long)
STRAIT_SIMT_SHUFFLES(unsigned long long)
STRAIT_SIMT_SHUFFLES(float)
STRAIT_SIMT_SHUFFLES(double)
#undef STRAIT_SIMT_SHUFFLES

#define STRAIT_SIMT_REDUCE(name, op, type)                              \
  inline type __reduce_##name##_sync(unsigned mask, type value) {       \
    return strait::simt::reduce(strait::simt::WarpOp::op, mask, value); \
  }
STRAIT_SIMT_REDUCE(add, kReduceAdd, int)
STRAIT_SIMT_REDUCE(add, kReduceAdd, unsigned)
STRAIT_SIMT_REDUCE(min, kReduceMin, int)
STRAIT_SIMT_REDUCE(min, kReduceMin, unsigned)
STRAIT_SIMT_REDUCE(max, kReduceMax, int)
STRAIT_SIMT_REDUCE(max, kReduceMax, unsigned)
STRAIT_SIMT_REDUCE(and, kReduceAnd, unsigned)
STRAIT_SIMT_REDUCE(or, kReduceOr, unsigned)
STRAIT_SIMT_REDUCE(xor, kReduceXor, unsigned)
#undef STRAIT_SIMT_REDUCE

inline void __syncwarp(unsigned mask = 0xffffffffu) {
  strait::simt::warp_op(strait::simt::WarpOp::kSync, mask, 0);
}
inline unsigned __ballot_sync(unsigned mask, int predicate) {
  using namespace strait::simt;
  return static_cast<unsigned>(warp_op(WarpOp::kBallot, mask, predicate != 0));
}
inline int __any_sync(unsigned mask, int predicate) {
  return static_cast<int>(strait::simt::warp_op(strait::simt::WarpOp::kAny, mask, predicate != 0));
}
inline int __all_sync(unsigned mask, int predicate) {
  return static_cast<int>(strait::simt::warp_op(strait::simt::WarpOp::kAll, mask, predicate != 0));
}
inline unsigned __activemask() {
  return 1u << strait::simt::thread_place->lane;
}

inline void __syncthreads() {
  strait::simt::barrier(0, 0, strait::simt::BarrierVote::kNone, false);
}
inline int __syncthreads_count(int predicate) {
  using namespace strait::simt;
  return static_cast<int>(barrier(0, 0, BarrierVote::kCount, predicate != 0));
}
inline int __syncthreads_and(int predicate) {
  using namespace strait::simt;
  return static_cast<int>(barrier(0, 0, BarrierVote::kAnd, predicate != 0));
}
inline int __syncthreads_or(int predicate) {
  using namespace strait::simt;
  return static_cast<int>(barrier(0, 0, BarrierVote::kOr, predicate != 0));
}
