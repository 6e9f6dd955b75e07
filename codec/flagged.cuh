// Short lists of a block: the bytes that carry a flag, in the order of their values, each put by
// the lane that has it. Device code; every lane of a warp calls together; 25 instructions to rank
// the flags of 512 values, then some for each flag.
#pragma once

#include "codec/cut.cuh"

namespace strait::codec::gpu {

// Where a lane's flagged values of each row go in the list of all.
struct Ranks {
  uint32_t first[kBlockRows];
  uint32_t total;
};

__device__ __forceinline__ Ranks rank(const uint32_t (&flags)[kBlockRows]) {
  // The counts of a lane's four rows in the bytes of one word: a row's total is at most 128.
  uint32_t counts = 0;
#pragma unroll
  for (int r = 0; r < kBlockRowsInt; ++r) counts |= count_of(flags[r]) << (8 * r);
  const uint32_t up_to = running_sum(counts), all = from_lane(up_to, kWarpLanes - 1);
  const uint32_t before = up_to - counts;
  Ranks ranks;
  ranks.total = 0;
#pragma unroll
  for (int r = 0; r < kBlockRowsInt; ++r) {
    ranks.first[r] = ranks.total + byte_of(before, static_cast<uint32_t>(r));
    ranks.total += byte_of(all, static_cast<uint32_t>(r));
  }
  return ranks;
}

// Calls visit(row, value of the row, place in the list) for each flag of this lane.
template <class Visit>
__device__ __forceinline__ void each_flagged(const Ranks& ranks,
                                             const uint32_t (&flags)[kBlockRows], Visit visit) {
#pragma unroll
  for (int r = 0; r < kBlockRowsInt; ++r) {
    if (flags[r] == 0) continue;
    uint32_t at = ranks.first[r];
#pragma unroll
    for (int k = 0; k < 4; ++k)
      if (flags[r] >> (8 * k + 7) & 1) visit(r, k, at++);
  }
}

__device__ __forceinline__ void put_flagged(const Ranks& ranks, const uint32_t (&flags)[kBlockRows],
                                            const uint32_t (&bytes)[kBlockRows], std::byte* list) {
  each_flagged(ranks, flags, [&](int r, int k, uint32_t at) {
    list[at] = static_cast<std::byte>(bytes[r] >> (8 * k));
  });
}

// A byte of a list; zero beyond its end.
__device__ __forceinline__ uint32_t list_byte(const std::byte* list, uint32_t at, uint32_t end) {
  return at < end ? static_cast<uint32_t>(list[at]) : 0;
}

// Puts the list's bytes where the flags are; those bytes were zero.
__device__ __forceinline__ void get_flagged(const Ranks& ranks, const uint32_t (&flags)[kBlockRows],
                                            const std::byte* list, uint32_t list_bytes,
                                            uint32_t (&bytes)[kBlockRows]) {
  each_flagged(ranks, flags, [&](int r, int k, uint32_t at) {
    bytes[r] |= list_byte(list, at, list_bytes) << (8 * k);
  });
}

}  // namespace strait::codec::gpu
