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

// Which of the planes and rows is this lane's.
struct PlanePlace {
  __device__ PlanePlace() : lane(device::lane_id()) {}
  __device__ uint32_t plane() const { return lane & 3; }
  __device__ uint32_t row() const { return lane >> 1 & 2; }
  __device__ uint32_t group() const { return lane >> 3; }
  // Of the word of `row() + r`, within a plane.
  __device__ uint32_t byte(uint32_t r) const { return 16 * (row() + r) + 4 * group(); }
  uint32_t lane;
};

// Exchanges two bits of the index of a word's bits, which are `shift` apart.
__device__ __forceinline__ uint32_t exchange_bits(uint32_t x, uint32_t shift, uint32_t mask) {
  const uint32_t apart = (x ^ (x >> shift)) & mask;
  return x ^ apart ^ (apart << shift);
}

// Two rows' codes of four bits (value, row, plane) to nibbles of four values (plane, row).
__device__ __forceinline__ uint32_t turn(uint32_t even, uint32_t odd) {
  const uint32_t x = even | odd << 4;
  return exchange_bits(exchange_bits(x, 14, 0x0000CCCCu), 7, 0x00AA00AAu);
}
__device__ __forceinline__ void turn_back(uint32_t x, uint32_t& even, uint32_t& odd) {
  x = exchange_bits(exchange_bits(x, 7, 0x00AA00AAu), 14, 0x0000CCCCu);
  even = x & 0x0F0F0F0Fu;
  odd = x >> 4 & 0x0F0F0F0Fu;
}

// Which bytes of two words a lane keeps, and which it sends to the lane across: halves of words in
// one exchange, every other byte in the next. `swapped`: the words are in the other order.
__device__ __forceinline__ uint32_t halves_of(bool swapped, bool upper) {
  return (swapped ? 0x1054u : 0x5410u) + (upper ? 0x2222u : 0);
}
__device__ __forceinline__ uint32_t bytes_of(bool swapped, bool odd) {
  return (swapped ? 0x2604u : 0x6240u) + (odd ? 0x1111u : 0);
}

// codes: no bits above the lowest four.
__device__ __forceinline__ PlaneWords gather_planes(const uint32_t (&codes)[kBlockRows]) {
  const uint32_t lane = device::lane_id();
  const bool m0 = lane & 1, m1 = lane & 2, m2 = lane & 4;
  const uint32_t upper = turn(codes[0], codes[1]), lower = turn(codes[2], codes[3]);
  // Of the rows; then the planes, 2 and 3 in the upper halves; then the odd ones, in the odd bytes.
  const uint32_t rows = m2 ? lower : upper, rows_came = from_across(m2 ? upper : lower, 4);
  const uint32_t pair = __byte_perm(rows, rows_came, halves_of(m2, m1));
  const uint32_t pair_came = from_across(__byte_perm(rows, rows_came, halves_of(m2, !m1)), 2);
  const uint32_t one = __byte_perm(pair, pair_came, bytes_of(m1, m0));
  const uint32_t one_came = from_across(__byte_perm(pair, pair_came, bytes_of(m1, !m0)), 1);
  const uint32_t z0 = m0 ? one_came : one, z1 = m0 ? one : one_came;
  return {
      {(z0 & 0x0F0F0F0Fu) | (z1 << 4 & 0xF0F0F0F0u), (z0 >> 4 & 0x0F0F0F0Fu) | (z1 & 0xF0F0F0F0u)}};
}

__device__ __forceinline__ void scatter_planes(const PlaneWords& words,
                                               uint32_t (&codes)[kBlockRows]) {
  const uint32_t lane = device::lane_id();
  const bool m0 = lane & 1, m1 = lane & 2, m2 = lane & 4;
  const uint32_t z0 = (words.row[0] & 0x0F0F0F0Fu) | (words.row[1] << 4 & 0xF0F0F0F0u);
  const uint32_t z1 = (words.row[0] >> 4 & 0x0F0F0F0Fu) | (words.row[1] & 0xF0F0F0F0u);
  const uint32_t one = m0 ? z1 : z0, one_came = from_across(m0 ? z0 : z1, 1);
  const uint32_t pair = __byte_perm(one, one_came, bytes_of(m0, m1));
  const uint32_t pair_came = from_across(__byte_perm(one, one_came, bytes_of(m0, !m1)), 2);
  const uint32_t rows = __byte_perm(pair, pair_came, halves_of(m1, m2));
  const uint32_t rows_came = from_across(__byte_perm(pair, pair_came, halves_of(m1, !m2)), 4);
  turn_back(m2 ? rows_came : rows, codes[0], codes[1]);
  turn_back(m2 ? rows : rows_came, codes[2], codes[3]);
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
  const PlanePlace place;
  const uint32_t bytes = kFull ? kBlockValues / 8 : (n + 7) / 8;
  for (uint32_t done = 0; done < width; done += 4) {
    uint32_t four[kBlockRows];
#pragma unroll
    for (int r = 0; r < kBlockRowsInt; ++r)
      four[r] = width <= 4 ? codes[r] : codes[r] >> done & 0x0F0F0F0Fu;
    const PlaneWords words = gather_planes(four);
    const uint32_t plane = done + place.plane();
    if (plane >= width) continue;
    std::byte* const to = planes + plane * bytes;
    store_plane_word<kFull>(to, place.byte(0), bytes, words.row[0]);
    store_plane_word<kFull>(to, place.byte(1), bytes, words.row[1]);
  }
}

template <bool kFull>
__device__ __forceinline__ void load_planes(const std::byte* planes, uint32_t width, uint32_t n,
                                            uint32_t (&codes)[kBlockRows]) {
  const PlanePlace place;
  const uint32_t bytes = kFull ? kBlockValues / 8 : (n + 7) / 8;
#pragma unroll
  for (int r = 0; r < kBlockRowsInt; ++r) codes[r] = 0;
  for (uint32_t done = 0; done < width; done += 4) {
    const uint32_t plane = done + place.plane();
    PlaneWords words = {};
    if (plane < width) {
      const std::byte* const from = planes + plane * bytes;
      words.row[0] = load_plane_word<kFull>(from, place.byte(0), bytes);
      words.row[1] = load_plane_word<kFull>(from, place.byte(1), bytes);
    }
    uint32_t four[kBlockRows];
    scatter_planes(words, four);
#pragma unroll
    for (int r = 0; r < kBlockRowsInt; ++r) codes[r] |= four[r] << done;
  }
}

}  // namespace strait::codec::gpu
