// Accesses of 16 bytes, the widest that one thread makes: plain, streaming past the caches, to
// memory that somebody else writes, and flagged, where each half carries its own proof of arrival;
// and hints to fetch into the second cache what will be read soon. Part of base/device.cuh; for any
// thread of a kernel. All addresses are multiples of 16, but for fetch_ahead().
#pragma once

#include <cstdint>

#include "base/device_order.cuh"

namespace strait::device {

__device__ __forceinline__ uint4 load16(const void* address) {
  return *static_cast<const uint4*>(address);
}
__device__ __forceinline__ void store16(void* address, uint4 value) {
  *static_cast<uint4*>(address) = value;
}

// Read once and by nobody else while the kernel runs: past L1, and through the read-only path.
__device__ __forceinline__ uint4 load16_stream(const void* address) {
#if defined(STRAIT_SIMT)
  return load16(address);
#else
  uint4 value;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(__cvta_generic_to_global(address)));
  return value;
#endif
}

// Written once and not read again soon: first to leave the caches.
__device__ __forceinline__ void store16_stream(void* address, uint4 value) {
#if defined(STRAIT_SIMT)
  store16(address, value);
#else
  asm volatile(
      "st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(address)),
      "r"(value.x), "r"(value.y), "r"(value.z), "r"(value.w)
      : "memory");
#endif
}

// Fetches the 32 bytes around an address, in global memory that may be read.
__device__ __forceinline__ void fetch_ahead([[maybe_unused]] const void* address) {
#if !defined(STRAIT_SIMT)
  asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(address)));
#endif
}
// So many bytes, a multiple of 16, by one thread and without its waiting.
__device__ __forceinline__ void fetch_range_ahead([[maybe_unused]] const void* address,
                                                  [[maybe_unused]] uint32_t bytes) {
#if !defined(STRAIT_SIMT)
  asm volatile(
      "cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(__cvta_generic_to_global(address)),
      "r"(bytes));
#endif
}

// What another GPU or the host may be writing: never from a stale cache, each 8 bytes indivisible.
__device__ __forceinline__ uint4 load16_system(const void* address) {
#if defined(STRAIT_SIMT)
  const auto* words = static_cast<const uint64_t*>(address);
  const uint64_t low = load_relaxed(words), high = load_relaxed(words + 1);
  return make_uint4(static_cast<uint32_t>(low), static_cast<uint32_t>(low >> 32),
                    static_cast<uint32_t>(high), static_cast<uint32_t>(high >> 32));
#else
  uint4 value;
  asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(__cvta_generic_to_global(address))
               : "memory");
  return value;
#endif
}

__device__ __forceinline__ void store16_system(void* address, uint4 value) {
#if defined(STRAIT_SIMT)
  auto* words = static_cast<uint64_t*>(address);
  store_relaxed(words, static_cast<uint64_t>(value.y) << 32 | value.x);
  store_relaxed(words + 1, static_cast<uint64_t>(value.w) << 32 | value.z);
#else
  asm volatile(
      "st.volatile.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(address)),
      "r"(value.x), "r"(value.y), "r"(value.z), "r"(value.w)
      : "memory");
#endif
}

// The message of the low-latency protocol: 8 bytes of data in 16, a flag beside each half, so that
// the reader needs no other word to know that both have arrived.
//
//   | data 0..3 | flag | data 4..7 | flag |       each half indivisible
__device__ __forceinline__ void store_flagged(void* address, uint64_t data, uint32_t flag) {
  store16_system(address, make_uint4(static_cast<uint32_t>(data), flag,
                                     static_cast<uint32_t>(data >> 32), flag));
}

// True, and the data, once both halves carry the flag.
__device__ __forceinline__ bool load_flagged(const void* address, uint32_t flag, uint64_t* data) {
  const uint4 found = load16_system(address);
  if (found.y != flag || found.w != flag) return false;
  *data = static_cast<uint64_t>(found.z) << 32 | found.x;
  return true;
}

}  // namespace strait::device
