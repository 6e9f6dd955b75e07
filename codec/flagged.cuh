// Short lists of a block: the bytes that carry a flag, in the order of their values, each put by
// the lane that has it. Device code; every lane of a warp calls together; 25 instructions to rank
// the flags of 512 values, then some for each flag.
#pragma once

#include "codec/cut.cuh"

namespace strait::codec::gpu {

// How many flags are before a lane's own: in the bytes of words, one for each row.
struct Ranks {
  uint32_t before;  // in lower lanes
  uint32_t rows;    // in all lanes: at most 128

  __device__ __forceinline__ uint32_t total() const { return sum_of_bytes(rows, 0); }
  // Where the first of this lane's flags in row r goes.
  __device__ __forceinline__ uint32_t first(int r) const {
    uint32_t place = byte_of(before, static_cast<uint32_t>(r));
#pragma unroll
    for (int above = 0; above < r; ++above) place += byte_of(rows, static_cast<uint32_t>(above));
    return place;
  }
};

__device__ __forceinline__ Ranks rank(const uint32_t (&flags)[kBlockRows]) {
  uint32_t counts = 0;
#pragma unroll
  for (int r = kBlockRowsInt - 1; r >= 0; --r)
    counts = counts << 8 | sum_of_bytes(flags[r] >> 7, 0);
  const uint32_t up_to = running_sum(counts);
  return {up_to - counts, from_lane(up_to, kWarpLanes - 1)};
}

// Calls visit(row, value of the row, place in the list) for each flag of this lane.
template <class Visit>
__device__ __forceinline__ void each_flagged(const Ranks& ranks,
                                             const uint32_t (&flags)[kBlockRows], Visit visit) {
#pragma unroll
  for (int r = 0; r < kBlockRowsInt; ++r) {
    if (flags[r] == 0) continue;
    uint32_t at = ranks.first(r);
#pragma unroll
    for (int k = 0; k < 4; ++k)
      if (flags[r] >> (8 * k + 7) & 1) visit(r, k, at++);
  }
}

// The flags of all rows in one word: bit r of byte k.
__device__ __forceinline__ uint32_t pack_flags(const uint32_t (&flags)[kBlockRows]) {
  return flags[0] >> 7 | flags[1] >> 6 | flags[2] >> 5 | flags[3] >> 4;
}

// The same where flags are few: row and value are numbers of the running program.
template <class Visit>
__device__ __forceinline__ void few_flagged(const Ranks& ranks, uint32_t packed, Visit visit) {
  uint32_t left = packed;
  while (left != 0) {
    const uint32_t bit = left & (0u - left);
    const auto at = static_cast<uint32_t>(__ffs(static_cast<int>(left))) - 1;
    const uint32_t r = at & 7, k = at >> 3, of_row = packed & each_byte(1u << r);
    const uint32_t own =
        byte_of(ranks.before, r) + static_cast<uint32_t>(__popc(of_row & (bit - 1)));
    visit(r, k, sum_of_bytes(ranks.rows & ((1u << (8 * r)) - 1), own));
    left ^= bit;
  }
}

// Byte k of row r.
__device__ __forceinline__ uint32_t pick_byte(const uint32_t (&rows)[kBlockRows], uint32_t r,
                                              uint32_t k) {
  const uint32_t byte = k + 4 * (r & 1), upper = __byte_perm(rows[0], rows[1], byte),
                 lower = __byte_perm(rows[2], rows[3], byte);
  return (r < 2 ? upper : lower) & 255;
}
// Sets bits of byte k of row r.
__device__ __forceinline__ void put_byte(uint32_t (&rows)[kBlockRows], uint32_t r, uint32_t k,
                                         uint32_t byte) {
#pragma unroll
  for (uint32_t row = 0; row < kBlockRows; ++row) rows[row] |= row == r ? byte << (8 * k) : 0;
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
