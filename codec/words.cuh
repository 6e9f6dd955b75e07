// Four bytes in a word, and sums over a warp: what the device codec is made of. Flags stand in the
// top bit of each byte. Device code for whole warps (sums) or any thread (the rest); each is a few
// instructions.
#pragma once

#include <cstdint>

#include "base/device.cuh"

namespace strait::codec::gpu {

inline constexpr uint32_t kAllLanes = 0xFFFFFFFFu;
inline constexpr uint32_t kWarpLanes = 32;
inline constexpr uint32_t kFlags = 0x80808080u;

constexpr uint32_t each_byte(uint32_t byte) {
  return byte * 0x01010101u;
}

__device__ __forceinline__ uint32_t subtract_bytes(uint32_t a, uint32_t b) {
  return ((a | kFlags) - (b & ~kFlags)) ^ ((a ^ ~b) & kFlags);
}

__device__ __forceinline__ uint32_t add_bytes(uint32_t a, uint32_t b) {
  return ((a & ~kFlags) + (b & ~kFlags)) ^ ((a ^ b) & kFlags);
}

// Flags the bytes that are at least `limit`, 1 to 128.
__device__ __forceinline__ uint32_t at_least(uint32_t bytes, uint32_t limit) {
  return (((bytes & ~kFlags) + each_byte(128 - limit)) | bytes) & kFlags;
}

// 255 where there is a flag.
__device__ __forceinline__ uint32_t mask_of(uint32_t flags) {
  return (flags >> 7) * 255;
}

__device__ __forceinline__ uint32_t count_of(uint32_t flags) {
  return ((flags >> 7) * 0x01010101u) >> 24;
}

__device__ __forceinline__ uint32_t byte_of(uint32_t word, uint32_t index) {
  return word >> (8 * index) & 255;
}

__device__ __forceinline__ uint32_t sum_of_bytes(uint32_t word, uint32_t sum) {
  return __dp4a(word, 0x01010101u, sum);
}

// __byte_perm, of whose selector only the lowest three bits of each nibble may be set: compilers
// mask it otherwise.
__device__ __forceinline__ uint32_t permute(uint32_t a, uint32_t b, uint32_t selector) {
#if defined(STRAIT_SIMT)
  return __byte_perm(a, b, selector);
#else
  uint32_t bytes;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(bytes) : "r"(a), "r"(b), "r"(selector));
  return bytes;
#endif
}

// a * b + c in one instruction, also where compilers would rather shift and mask.
__device__ __forceinline__ uint32_t multiply_add(uint32_t a, uint32_t b, uint32_t c) {
#if defined(STRAIT_SIMT)
  return a * b + c;
#else
  uint32_t sum;
  asm("mad.lo.u32 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(c));
  return sum;
#endif
}

// 1 << by, or 0 from 64 on.
__device__ __forceinline__ uint64_t shifted_one(uint32_t by) {
#if defined(STRAIT_SIMT)
  return by < 64 ? uint64_t{1} << by : 0;
#else
  uint64_t one;
  asm("shl.b64 %0, 1, %1;" : "=l"(one) : "r"(by));
  return one;
#endif
}

// Flips bits of a word where two numbers are equal: no branch, where compilers see a switch.
__device__ __forceinline__ void flip_where_equal(uint32_t a, uint32_t b, uint32_t bits,
                                                 uint32_t& word) {
#if defined(STRAIT_SIMT)
  if (a == b) word ^= bits;
#else
  asm("{ .reg .pred equal;\n"
      "setp.eq.u32 equal, %1, %2;\n"
      "@equal xor.b32 %0, %0, %3; }"
      : "+r"(word)
      : "r"(a), "r"(b), "r"(bits));
#endif
}

__device__ __forceinline__ uint32_t warp_sum(uint32_t value) {
  return __reduce_add_sync(kAllLanes, value);
}
__device__ __forceinline__ uint32_t warp_min(uint32_t value) {
  return __reduce_min_sync(kAllLanes, value);
}
__device__ __forceinline__ uint32_t warp_max(uint32_t value) {
  return __reduce_max_sync(kAllLanes, value);
}
__device__ __forceinline__ uint32_t from_lane(uint32_t value, uint32_t lane) {
  return __shfl_sync(kAllLanes, value, static_cast<int>(lane));
}
__device__ __forceinline__ uint32_t from_across(uint32_t value, uint32_t bits) {
  return __shfl_xor_sync(kAllLanes, value, static_cast<int>(bits));
}

// value, and what the lane `step` below has, where there is one.
__device__ __forceinline__ uint32_t add_from_below(uint32_t value, uint32_t step) {
#if defined(STRAIT_SIMT)
  const uint32_t below = __shfl_up_sync(kAllLanes, value, step);
  return value + (device::lane_id() >= step ? below : 0);
#else
  uint32_t sum;
  asm volatile(
      "{ .reg .pred inside; .reg .u32 below;\n"
      "shfl.sync.up.b32 below|inside, %1, %2, 0, 0xFFFFFFFF;\n"
      "mov.u32 %0, %1;\n"
      "@inside add.u32 %0, %0, below; }"
      : "=&r"(sum)
      : "r"(value), "r"(step));
  return sum;
#endif
}

// The sum over this lane and those below.
__device__ __forceinline__ uint32_t running_sum(uint32_t value) {
#pragma unroll
  for (uint32_t step = 1; step < kWarpLanes; step *= 2) value = add_from_below(value, step);
  return value;
}

// The sum of c and the products of two 16-bit halves with two bytes, the lower two or the upper.
__device__ __forceinline__ uint32_t dot_lower(uint32_t halves, uint32_t bytes, uint32_t c) {
#if defined(STRAIT_SIMT)
  return c + (halves & 0xFFFF) * (bytes & 255) + (halves >> 16) * (bytes >> 8 & 255);
#else
  return __dp2a_lo(halves, bytes, c);
#endif
}
__device__ __forceinline__ uint32_t dot_upper(uint32_t halves, uint32_t bytes, uint32_t c) {
#if defined(STRAIT_SIMT)
  return dot_lower(halves, bytes >> 16, c);
#else
  return __dp2a_hi(halves, bytes, c);
#endif
}

}  // namespace strait::codec::gpu
