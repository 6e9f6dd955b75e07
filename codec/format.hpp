// The numbers of the wire format (README.md): block and tile sizes, how each type is cut into sign,
// exponent and mantissa, and the record that describes a block. Constants and pure functions; any
// thread; no cost.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/types.hpp"

namespace strait::codec {

inline constexpr size_t kBlockValues = 512;
inline constexpr size_t kTileBlocks = 32;
inline constexpr size_t kTileValues = kBlockValues * kTileBlocks;
inline constexpr size_t kAlign = 16;  // every area of a payload starts at a multiple of this
inline constexpr size_t kMaxBytePlanes = 6;

// How a value is cut. The residual is sign * 2^mantissa_bits + mantissa; its low bytes are byte
// planes, what is left on top are bit planes.
struct Shape {
  uint8_t value_bytes = 0;
  uint8_t exponent_bits = 0;  // 0: the type is never coded
  uint8_t mantissa_bits = 0;

  constexpr size_t byte_planes() const { return (mantissa_bits + 1u) / 8; }
  constexpr size_t bit_planes() const { return (mantissa_bits + 1u) % 8; }
  constexpr size_t top_bytes() const { return exponent_bits > 8 ? 2 : 1; }  // also of one escape
  constexpr size_t low_bytes() const { return byte_planes() <= 1 ? 0 : byte_planes() <= 3 ? 1 : 2; }
  constexpr size_t record_bytes() const { return top_bytes() + 2 + low_bytes(); }
};

constexpr Shape shape_of(DataType type) {
  switch (type) {
    case DataType::kFloat16:
      return {2, 5, 10};
    case DataType::kBfloat16:
      return {2, 8, 7};
    case DataType::kFloat32:
      return {4, 8, 23};
    case DataType::kFloat64:
      return {8, 11, 52};
    case DataType::kFloat8e4m3:
      return {1, 4, 3};
    case DataType::kFloat8e5m2:
      return {1, 5, 2};
    default:
      return {};
  }
}

// The low six bits of a block's kind: what stands for the exponents.
inline constexpr uint8_t kMethodZero = 0;      // every bit of the block is zero
inline constexpr uint8_t kMethodConstant = 1;  // every value is the one in the list
inline constexpr uint8_t kMethodWindow = 2;    // + width: that many bit planes of top - exponent
inline constexpr uint8_t kMethodTable = 16;    // + table: entropy-coded in the tile's streams

inline constexpr uint16_t kLowTable =
    16;  // + table: a float's low half is in the tile's low streams
inline constexpr size_t kSparseListUnit = 8;

// Two bits: what stands for one byte plane.
enum class PlaneMode : uint8_t {
  kZero = 0,     // nothing: all bytes are zero
  kFull = 1,     // the bytes
  kSparse = 2,   // a bit per byte, and the bytes that are not zero
  kNibbles = 3,  // the same for the low and the high halves of the bytes
};

struct BlockRecord {
  uint16_t top = 0;  // highest exponent of the window
  uint8_t kind = 0;  // method, and the highest byte plane's mode in the top two bits
  uint8_t list = 0;  // bytes (eights of bytes when a plane is sparse) of the block's list
  uint16_t low = 0;  // modes of the other byte planes, two bits each, lowest plane first

  constexpr uint8_t method() const { return kind & 63; }
  constexpr bool has_low_table(const Shape& shape) const {
    return shape.value_bytes == 4 && low >= kLowTable;
  }
  constexpr PlaneMode plane(size_t index, size_t planes) const {
    return static_cast<PlaneMode>(index + 1 == planes ? kind >> 6 : (low >> (2 * index)) & 3);
  }
};

constexpr size_t round_up(size_t value, size_t unit) {
  return (value + unit - 1) / unit * unit;
}
constexpr size_t bit_bytes(size_t values) {
  return (values + 7) / 8;
}
constexpr size_t tiles_of(size_t count) {
  return (count + kTileValues - 1) / kTileValues;
}
constexpr size_t blocks_of(size_t values) {
  return (values + kBlockValues - 1) / kBlockValues;
}

}  // namespace strait::codec
