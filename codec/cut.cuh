// How a lane holds a block, and how it cuts values into sign, exponent and mantissa four at a time.
// Of each row of 128 values a lane has four neighbours, 4 * lane to 4 * lane + 3, first as they
// stand in memory, then by columns: word b of a row has byte b of all four. Device code; any
// thread; six instructions for four bfloat16 each way.
#pragma once

#include "codec/format.hpp"
#include "codec/streams.hpp"
#include "codec/words.cuh"

namespace strait::codec::gpu {

inline constexpr int kBlockRowsInt = static_cast<int>(kBlockRows);

// The words of a lane's four values of each row.
template <int kBytes>
struct Block {
  uint32_t word[kBlockRows][kBytes];
};

// Bytes to columns of four words, and back: the same exchange.
__device__ __forceinline__ void transpose(uint32_t (&w)[4]) {
  const uint32_t a = __byte_perm(w[0], w[1], 0x5140), b = __byte_perm(w[2], w[3], 0x5140);
  const uint32_t c = __byte_perm(w[0], w[1], 0x7362), d = __byte_perm(w[2], w[3], 0x7362);
  w[0] = __byte_perm(a, b, 0x5410);
  w[1] = __byte_perm(a, b, 0x7632);
  w[2] = __byte_perm(c, d, 0x5410);
  w[3] = __byte_perm(c, d, 0x7632);
}

template <int kBytes>
__device__ __forceinline__ void to_columns(uint32_t (&row)[kBytes]) {
  if constexpr (kBytes == 2) {
    const uint32_t low = __byte_perm(row[0], row[1], 0x6420);
    row[1] = __byte_perm(row[0], row[1], 0x7531);
    row[0] = low;
  } else if constexpr (kBytes == 4) {
    transpose(row);
  } else if constexpr (kBytes == 8) {
    uint32_t low[4] = {row[0], row[2], row[4], row[6]};
    uint32_t high[4] = {row[1], row[3], row[5], row[7]};
    transpose(low);
    transpose(high);
#pragma unroll
    for (int b = 0; b < 4; ++b) {
      row[b] = low[b];
      row[4 + b] = high[b];
    }
  }
}

template <int kBytes>
__device__ __forceinline__ void from_columns(uint32_t (&row)[kBytes]) {
  if constexpr (kBytes == 2) {
    const uint32_t low = __byte_perm(row[0], row[1], 0x5140);
    row[1] = __byte_perm(row[0], row[1], 0x7362);
    row[0] = low;
  } else if constexpr (kBytes == 4) {
    transpose(row);
  } else if constexpr (kBytes == 8) {
    uint32_t low[4] = {row[0], row[1], row[2], row[3]};
    uint32_t high[4] = {row[4], row[5], row[6], row[7]};
    transpose(low);
    transpose(high);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      row[2 * k] = low[k];
      row[2 * k + 1] = high[k];
    }
  }
}

// The fields of a type, from the columns of one row and back to them.
template <DataType kType>
struct Cut {
  static constexpr Shape kShape = shape_of(kType);
  // As a value: device code has no constants to refer to.
  static constexpr Shape shape() { return kShape; }
  static constexpr int kBytes = kShape.value_bytes;
  static constexpr int kPlanes = static_cast<int>(kShape.byte_planes());
  static constexpr int kBits = static_cast<int>(kShape.bit_planes());
  static constexpr int kExponentBits = kShape.exponent_bits;
  static constexpr bool kWide = kExponentBits > 8;

  // Where the exponent starts: this column, this bit of its bytes.
  static constexpr int kColumn = kShape.mantissa_bits / 8;
  static constexpr int kStart = kShape.mantissa_bits % 8;
  static constexpr bool kCrosses = kExponentBits > 8 - kStart;  // into the next column
  static constexpr uint32_t kLowMask = (kExponentBits >= 8 ? 255u : (1u << kExponentBits) - 1);
  static constexpr uint32_t kBelow = (1u << kStart) - 1;  // mantissa bits in that column
  static constexpr uint32_t kOverlap = kLowMask & (255u >> kStart);

  using Row = uint32_t[kBytes];

  // The exponents' low eight bits.
  static __device__ __forceinline__ uint32_t exponents(const Row& c) {
    uint32_t low = (c[kColumn] >> kStart) & each_byte(kOverlap);
    if constexpr (kCrosses)
      low |= (c[kColumn + 1] << (8 - kStart)) & each_byte(kLowMask & ~kOverlap);
    return low;
  }
  // What exceeds them (fp64).
  static __device__ __forceinline__ uint32_t exponents_high(const Row& c) {
    if constexpr (kWide)
      return (c[kBytes - 1] >> kStart) & each_byte((1u << (kExponentBits - 8)) - 1);
    return 0;
  }
  static __device__ __forceinline__ uint32_t plane(const Row& c, int p) {
    return p < kColumn ? c[p] : (c[kColumn] & ~kFlags) | (c[kBytes - 1] & kFlags);
  }
  // The residual's bits above its byte planes.
  static __device__ __forceinline__ uint32_t bits(const Row& c) {
    return (c[kColumn] & each_byte(kBelow)) |
           ((c[kBytes - 1] >> (7 - kStart)) & each_byte(1u << kStart));
  }
  // Puts the fields together. Planes below kColumn are the columns, and are there already.
  static __device__ __forceinline__ void join(Row& c, uint32_t low, uint32_t high, uint32_t top) {
    // top: the highest byte plane, or the bits.
    const uint32_t sign = kBits == 0 ? top & kFlags : (top << (7 - kStart)) & kFlags;
    uint32_t first = top & each_byte(kBelow);
    first |= (low << kStart) & each_byte((kOverlap << kStart) & 255);
    if constexpr (!kCrosses) {
      c[kColumn] = first | sign;
    } else {
      uint32_t next = (low >> (8 - kStart)) & each_byte((kLowMask & ~kOverlap) >> (8 - kStart));
      if constexpr (kWide) next |= (high << kStart) & ~kFlags & each_byte(255u << kStart & 255);
      c[kColumn] = first;
      c[kColumn + 1] = next | sign;
    }
  }
};

// The exponents of a lane: their low eight bits, and what exceeds them (double).
struct ExponentRows {
  __device__ __forceinline__ uint32_t whole(int r, int k) const {
    return (low[r] >> (8 * k) & 255) | (high[r] >> (8 * k) & 255) << 8;
  }
  uint32_t low[kBlockRows];
  uint32_t high[kBlockRows];
};

}  // namespace strait::codec::gpu
