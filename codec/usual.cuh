// The usual block: full, no byte plane with zeros to save, exponents through a window of one to
// four bits; nearly all blocks of tensors in the fast mode. What its reader and its writer share:
// how a lane holds exponents, two to a word, and where the escapes among them are. Device code;
// every lane of a warp calls together.
#pragma once

#include "codec/bit_planes.cuh"
#include "codec/record.hpp"

namespace strait::codec::gpu {

// Types whose sign, exponent and highest mantissa bits are in the upper 16 bits of a value: all but
// double.
template <class Cut>
inline constexpr bool kHasUsual = Cut::kBytes <= 4;

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
template <class Cut>
inline constexpr uint32_t kUsualKind = Cut::kPlanes == 0
                                           ? 0
                                           : static_cast<uint32_t>(PlaneMode::kFull) << 6;
// Escapes that a list has room for.
inline constexpr uint32_t kMostEscapes = static_cast<uint32_t>(kBlockValues) / 8;

// A block's record as lanes keep it: top, kind << 16, list << 24; the modes of lower planes.
struct PackedRecord {
  __device__ __forceinline__ uint32_t method() const { return first >> 16 & 63; }
  uint32_t first, low;
};
__device__ __forceinline__ PackedRecord packed(const BlockRecord& record) {
  return {record.top | uint32_t{record.kind} << 16 | uint32_t{record.list} << 24, record.low};
}

// A flag in the lowest bit of each nibble of two rows' codes that has all bits of the window's
// width set.
__device__ __forceinline__ uint32_t escapes_in(uint32_t codes, uint32_t escape) {
  const uint32_t filled = codes | each_nibble(15 - escape), halves = filled & filled >> 1;
  return halves & halves >> 2 & each_nibble(1);
}

// A lane's escapes, and where they go in the list. Visited from the last to the first.
class Escapes {
 public:
  Escapes() = default;
  __device__ __forceinline__ Escapes(const uint32_t (&codes)[2], uint32_t escape) {
    rows01_ = escapes_in(codes[0], escape);
    rows23_ = escapes_in(codes[1], escape);
    constexpr uint32_t kBits = 0x08040201u;
    flags = multiply_add(__dp4a(rows23_, kBits, 0u), 256, __dp4a(rows01_, kBits, 0u));
  }
  // Sets the other members.
  __device__ __forceinline__ void rank() {
    // How many in each row, a byte for each.
    const uint32_t nibbles =
        multiply_add(sum_of_bytes(rows23_, 0), 1u << 16, sum_of_bytes(rows01_, 0));
    const uint32_t up_to = running_sum((nibbles * 17) & 0x0F0F0F0Fu);
    const uint32_t rows = from_lane(up_to, kWarpLanes - 1);
    total = sum_of_bytes(rows, 0);
    // Behind all rows above, the products' sums: less than 256 where the total is.
    end_ = multiply_add(rows, 0x01010100u, up_to);
  }

  // Calls visit(number of the lane's value, 4 * row + value of the row; place in the list).
  template <class Visit>
  __device__ __forceinline__ void each(Visit visit) const {
    uint32_t end = end_;
#pragma unroll 1
    for (uint32_t left = flags; left != 0;) {
      const uint32_t value = 31 - static_cast<uint32_t>(__clz(static_cast<int>(left)));
      const uint32_t row = 2 * value & 24;  // of bytes
      left ^= 1u << value;
      end -= 1u << row;
      visit(value, end >> row & 255);
    }
  }

  // The same in step, so that lanes may exchange: calls visit(number, place, whether this lane has
  // an escape) until none has. Some lane has one.
  template <class Visit>
  __device__ __forceinline__ void each_in_step(Visit visit) const {
    uint32_t end = end_, left = flags;
#pragma unroll 1
    do {
      const bool has = left != 0;
      const uint32_t value = 31 - static_cast<uint32_t>(__clz(static_cast<int>(left)));
      const uint32_t row = 2 * value & 24;
      left &= ~(1u << (value & 31));
      end -= 1u << row;
      visit(value, end >> row, has);
    } while (__any_sync(kAllLanes, left != 0));
  }

  uint32_t flags;  // of this lane
  uint32_t total;  // of the warp

 private:
  uint32_t rows01_, rows23_;
  uint32_t end_;  // behind this lane's, of each row, a byte for each
};

}  // namespace strait::codec::gpu
