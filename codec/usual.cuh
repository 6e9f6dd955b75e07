// The usual block: full, no byte plane with zeros to save, exponents through a window of one to
// four bits; nearly all blocks of tensors in the fast mode. What its reader and its writer share:
// how a lane holds exponents, two to a word, and where the escapes among them are. Device code;
// every lane of a warp calls together.
#pragma once

#include "codec/bit_planes.cuh"
#include "codec/record.hpp"

namespace strait::codec::gpu {

// Types whose sign, exponent and highest mantissa bits are the upper 16 bits of a value, or all:
// bfloat16, half, float.
template <class Cut>
inline constexpr bool kHasUsual = Cut::kBytes == 2 || Cut::kBytes == 4;

inline constexpr uint32_t kUsualWidths = 4;

constexpr uint32_t each_half(uint32_t half) {
  return half * 0x00010001u;
}
constexpr uint32_t each_nibble(uint32_t nibble) {
  return nibble * 0x11111111u;
}

// Where a type's exponent is, in the upper 16 bits of a value.
template <class Cut>
inline constexpr int kUsualShift = 15 - Cut::kExponentBits;
template <class Cut>
inline constexpr uint32_t kUsualExponent = each_half(((1u << Cut::kExponentBits) - 1)
                                                     << kUsualShift<Cut>);

// Modes of the byte planes: all of them whole.
template <class Cut>
inline constexpr uint32_t kUsualLow = Cut::kPlanes == 3 ? 0x5 : 0;
inline constexpr uint32_t kUsualKind = static_cast<uint32_t>(PlaneMode::kFull) << 6;

// Escapes of a lane: a flag in the lowest bit of each nibble of two rows' codes that has all bits
// of the window's width set.
__device__ __forceinline__ uint32_t escapes_in(uint32_t codes, uint32_t escape) {
  const uint32_t filled = codes | each_nibble(15 - escape), halves = filled & filled >> 1;
  return halves & halves >> 2 & each_nibble(1);
}

// Rows 0 and 1 in bits 0 and 4 of each byte, rows 2 and 3 in bits 2 and 6.
__device__ __forceinline__ uint32_t join_escapes(uint32_t rows01, uint32_t rows23) {
  return rows01 | rows23 << 2;
}

// Where a lane's escapes go in the list.
struct EscapePlaces {
  // How many in each row, a byte for each.
  static __device__ __forceinline__ uint32_t counts_of(uint32_t rows01, uint32_t rows23) {
    const uint32_t nibbles = sum_of_bytes(rows01, 0) + (sum_of_bytes(rows23, 0) << 16);
    return (nibbles * 17) & 0x0F0F0F0Fu;
  }
  EscapePlaces() = default;
  __device__ __forceinline__ EscapePlaces(uint32_t rows01, uint32_t rows23) {
    const uint32_t counts = counts_of(rows01, rows23), up_to = running_sum(counts);
    const uint32_t rows = from_lane(up_to, kWarpLanes - 1);
    total = sum_of_bytes(rows, 0);
    // Behind all rows above, the products' sums: less than 256 where the total is.
    first = up_to - counts + rows * 0x01010100u;
  }

  // Calls visit(bit of the row, as joined; value of the row; place) for each of the joined flags.
  template <class Visit>
  __device__ __forceinline__ void each(uint32_t flags, Visit visit) const {
#pragma unroll 1
    for (uint32_t left = flags; left != 0; left &= left - 1) {
      const uint32_t at = static_cast<uint32_t>(__ffs(static_cast<int>(left))) - 1, row = at & 7;
      const uint32_t before = flags & each_byte(1) << row & ((1u << at) - 1);
      const uint32_t shift = row_of(row) * 8;
      visit(row_of(row), at >> 3, (first >> shift & 255) + static_cast<uint32_t>(__popc(before)));
    }
  }

  static __device__ __forceinline__ uint32_t row_of(uint32_t bit) {
    return (bit >> 2) | (bit & 2);
  }

  uint32_t total;  // of the warp
  uint32_t first;  // of this lane, of each row, a byte for each
};

}  // namespace strait::codec::gpu
