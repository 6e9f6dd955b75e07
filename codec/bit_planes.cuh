// Bit planes of a block: codes, one in each byte of a lane's words, to planes of one bit per value
// and back. Four planes at a time. A lane turns its own bits with shifts, then the eight lanes that
// share a word exchange halves, bytes and nibbles in three shuffles:
//
//   lane m of eight holds   rows 0..3 x planes 0..3 of values 4m .. 4m + 3
//   afterwards              plane m % 4 of rows 2 (m / 4) and 2 (m / 4) + 1, of all 32 values
//
// Device code; every lane of a warp calls together. 40 instructions for four planes of 512 values.
#pragma once

#include "codec/cut.cuh"

namespace strait::codec::gpu {

struct PlaneWords {
  uint32_t row[2];
};

// The first word's bits where the mask has ones, the second's elsewhere. Said as one instruction,
// since compilers make two of it where the mask is a constant.
__device__ __forceinline__ uint32_t choose_bits(uint32_t mask, uint32_t a, uint32_t b) {
#if defined(STRAIT_SIMT)
  return (a & mask) | (b & ~mask);
#else
  uint32_t chosen;
  asm("lop3.b32 %0, %1, %2, %3, 0xE4;" : "=r"(chosen) : "r"(a), "r"(b), "r"(mask));
  return chosen;
#endif
}

// Exchanges two bits of the index of a word's bits, which are `shift` apart.
__device__ __forceinline__ uint32_t exchange_bits(uint32_t x, uint32_t shift, uint32_t mask) {
  return choose_bits(mask, x >> shift, choose_bits(mask << shift, x << shift, x));
}

// Two rows' codes of four bits, (value, row, plane), to nibbles of four values, (plane, row); and
// back.
__device__ __forceinline__ uint32_t turn(uint32_t x) {
  return exchange_bits(exchange_bits(x, 14, 0x0000CCCCu), 7, 0x00AA00AAu);
}
__device__ __forceinline__ uint32_t turn_back(uint32_t x) {
  return exchange_bits(exchange_bits(x, 7, 0x00AA00AAu), 14, 0x0000CCCCu);
}

// What a lane keeps in the exchanges, as selectors of bytes, and what it sends to the lane across;
// and what is its own afterwards. Computed, or taken from a table.
struct alignas(16) PlaneLane {
  static constexpr uint32_t kFirst = 0x3210, kSecond = 0x7654, kOtherHalves = 0x2222,
                            kOtherBytes = 0x1111;
  // Halves of words in one exchange, every other byte in the next. `swapped`: the words are in the
  // other order.
  static constexpr uint32_t halves_of(bool swapped, bool upper) {
    return (swapped ? 0x1054u : 0x5410u) + (upper ? kOtherHalves : 0);
  }
  static constexpr uint32_t bytes_of(bool swapped, bool odd) {
    return (swapped ? 0x2604u : 0x6240u) + (odd ? kOtherBytes : 0);
  }
  static constexpr PlaneLane of(uint32_t lane, bool scatters) {
    const bool m0 = lane & 1, m1 = lane & 2, m2 = lane & 4;
    const uint32_t halves = scatters ? halves_of(m1, m2) : halves_of(m2, m1),
                   bytes = scatters ? bytes_of(m0, m1) : bytes_of(m1, m0);
    return {m2 ? kSecond : kFirst,
            m0 ? kSecond : kFirst,
            halves,
            bytes,
            halves ^ kOtherHalves,
            bytes ^ kOtherBytes,
            lane & 3,
            16 * (lane >> 1 & 2) + 4 * (lane >> 3)};
  }

  uint32_t rows, ones;  // the first of two words, or the second
  uint32_t halves, bytes, other_halves, other_bytes;
  uint32_t plane;
  uint32_t byte;  // of the first of two rows' words, 16 bytes apart, within the plane
};

inline constexpr uint32_t kLowNibbles = 0x0F0F0F0Fu;

// Codes of two rows each, the second row's in the upper nibbles.
__device__ __forceinline__ PlaneWords gather_planes(const PlaneLane& mine, uint32_t codes01,
                                                    uint32_t codes23) {
  const uint32_t upper = turn(codes01), lower = turn(codes23);
  // Of the rows; then the planes, 2 and 3 in the upper halves; then the odd ones, in odd bytes.
  const uint32_t rows = permute(upper, lower, mine.rows);
  const uint32_t rows_came = from_across(permute(lower, upper, mine.rows), 4);
  const uint32_t pair = permute(rows, rows_came, mine.halves);
  const uint32_t pair_came = from_across(permute(rows, rows_came, mine.other_halves), 2);
  const uint32_t one = permute(pair, pair_came, mine.bytes);
  const uint32_t one_came = from_across(permute(pair, pair_came, mine.other_bytes), 1);
  const uint32_t z0 = permute(one, one_came, mine.ones), z1 = permute(one_came, one, mine.ones);
  return {{choose_bits(kLowNibbles, z0, z1 << 4), choose_bits(kLowNibbles, z0 >> 4, z1)}};
}

__device__ __forceinline__ void scatter_planes(const PlaneLane& mine, const PlaneWords& words,
                                               uint32_t& codes01, uint32_t& codes23) {
  const uint32_t z0 = choose_bits(kLowNibbles, words.row[0], words.row[1] << 4);
  const uint32_t z1 = choose_bits(kLowNibbles, words.row[0] >> 4, words.row[1]);
  const uint32_t one = permute(z0, z1, mine.ones);
  const uint32_t one_came = from_across(permute(z1, z0, mine.ones), 1);
  const uint32_t pair = permute(one, one_came, mine.bytes);
  const uint32_t pair_came = from_across(permute(one, one_came, mine.other_bytes), 2);
  const uint32_t rows = permute(pair, pair_came, mine.halves);
  const uint32_t rows_came = from_across(permute(pair, pair_came, mine.other_halves), 4);
  codes01 = turn_back(permute(rows, rows_came, mine.rows));
  codes23 = turn_back(permute(rows_came, rows, mine.rows));
}

// One word of a plane of n bits; what is beyond it is left alone, and read as zero.
template <bool kFull>
__device__ __forceinline__ void store_plane_word(std::byte* plane, uint32_t byte, uint32_t bytes,
                                                 uint32_t word) {
  if constexpr (kFull) {
    *reinterpret_cast<uint32_t*>(plane + byte) = word;
  } else {
    for (uint32_t b = 0; b < 4 && byte + b < bytes; ++b)
      plane[byte + b] = static_cast<std::byte>(word >> (8 * b));
  }
}
template <bool kFull>
__device__ __forceinline__ uint32_t load_plane_word(const std::byte* plane, uint32_t byte,
                                                    uint32_t bytes) {
  if constexpr (kFull) return *reinterpret_cast<const uint32_t*>(plane + byte);
  uint32_t word = 0;
  for (uint32_t b = 0; b < 4 && byte + b < bytes; ++b)
    word |= static_cast<uint32_t>(plane[byte + b]) << (8 * b);
  return word;
}

// Bit p of all n codes, below 2^width, makes the p-th of `width` planes, at most 8, one behind
// another.
template <bool kFull>
__device__ __forceinline__ void store_planes(const uint32_t (&codes)[kBlockRows], uint32_t width,
                                             uint32_t n, std::byte* planes) {
  const PlaneLane mine = PlaneLane::of(device::lane_id(), false);
  const uint32_t bytes = kFull ? kBlockValues / 8 : (n + 7) / 8;
  for (uint32_t done = 0; done < width; done += 4) {
    uint32_t four[kBlockRows];
#pragma unroll
    for (int r = 0; r < kBlockRowsInt; ++r)
      four[r] = width <= 4 ? codes[r] : codes[r] >> done & 0x0F0F0F0Fu;
    const PlaneWords words = gather_planes(mine, four[0] | four[1] << 4, four[2] | four[3] << 4);
    const uint32_t plane = done + mine.plane;
    if (plane >= width) continue;
    std::byte* const to = planes + plane * bytes;
    store_plane_word<kFull>(to, mine.byte, bytes, words.row[0]);
    store_plane_word<kFull>(to, mine.byte + 16, bytes, words.row[1]);
  }
}

template <bool kFull>
__device__ __forceinline__ void load_planes(const std::byte* planes, uint32_t width, uint32_t n,
                                            uint32_t (&codes)[kBlockRows]) {
  const PlaneLane mine = PlaneLane::of(device::lane_id(), true);
  const uint32_t bytes = kFull ? kBlockValues / 8 : (n + 7) / 8;
#pragma unroll
  for (int r = 0; r < kBlockRowsInt; ++r) codes[r] = 0;
  for (uint32_t done = 0; done < width; done += 4) {
    const uint32_t plane = done + mine.plane;
    PlaneWords words = {};
    if (plane < width) {
      const std::byte* const from = planes + plane * bytes;
      words.row[0] = load_plane_word<kFull>(from, mine.byte, bytes);
      words.row[1] = load_plane_word<kFull>(from, mine.byte + 16, bytes);
    }
    uint32_t pairs[2];
    scatter_planes(mine, words, pairs[0], pairs[1]);
#pragma unroll
    for (int r = 0; r < kBlockRowsInt; ++r)
      codes[r] |= (pairs[r / 2] >> (4 * (r % 2)) & 0x0F0F0F0Fu) << done;
  }
}

}  // namespace strait::codec::gpu
