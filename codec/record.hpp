// What a block's record says: how many bytes its planes and its list take, and whether it can be
// true. Pure functions for hosts and GPUs alike, any thread; a few instructions.
#pragma once

#include "codec/format.hpp"
#include "codec/tables/tables.hpp"

namespace strait::codec {

// Byte planes below the highest that the record tells of; the two lowest of a float may be in the
// low streams instead.
constexpr size_t first_plane(const Shape& shape, const BlockRecord& record) {
  return record.has_low_table(shape) ? 2 : 0;
}

constexpr bool has_sparse(const Shape& shape, const BlockRecord& record) {
  for (size_t p = first_plane(shape, record); p < shape.byte_planes(); ++p)
    if (record.plane(p, shape.byte_planes()) >= PlaneMode::kSparse) return true;
  return false;
}

// Bytes in the planes area of a block with this record, which must have passed check_record.
constexpr size_t plane_bytes_of(const Shape& shape, const BlockRecord& record, size_t n) {
  const uint8_t method = record.method();
  if (method < kMethodWindow) return 0;
  const size_t bits = bit_bytes(n);
  size_t bytes = shape.bit_planes() * bits;
  for (size_t p = first_plane(shape, record); p < shape.byte_planes(); ++p)
    switch (record.plane(p, shape.byte_planes())) {
      case PlaneMode::kZero:
        break;
      case PlaneMode::kFull:
        bytes += n;
        break;
      case PlaneMode::kSparse:
        bytes += bits;
        break;
      case PlaneMode::kNibbles:
        bytes += 2 * bits;
        break;
    }
  if (method < kMethodTable) bytes += (method - kMethodWindow) * bits;
  return bytes;
}

// Bytes in the list area of a block with this record.
constexpr size_t list_bytes_of(const Shape& shape, const BlockRecord& record) {
  return record.list * (has_sparse(shape, record) ? kSparseListUnit : 1);
}

// What is wrong with the record of a block of n values, or null.
constexpr const char* check_record(const Shape& shape, const BlockRecord& record, size_t n) {
  const uint8_t method = record.method();
  if (method < kMethodWindow) {
    const bool plain = (record.kind >> 6) == 0 && record.low == 0;
    const size_t list = method == kMethodConstant ? shape.value_bytes : 0;
    return plain && record.list == list ? nullptr : "a constant block has more than its value";
  }
  const bool known = method >= kMethodTable ? method < kMethodTable + kExponentTables
                                            : method - kMethodWindow <= shape.exponent_bits;
  if (!known) return "a block's method is not known here";
  const bool low_table = record.has_low_table(shape);
  if (n != kBlockValues && (method >= kMethodTable || low_table))
    return "a block that is not full has a table";
  if (low_table)
    return record.low < kLowTable + kLowTables ? nullptr : "a block's low table is not known here";
  const size_t low_planes = shape.byte_planes() == 0 ? 0 : shape.byte_planes() - 1;
  if ((shape.byte_planes() == 0 && (record.kind >> 6) != 0) || record.low >> (2 * low_planes) != 0)
    return "a block describes planes that its type does not have";
  return nullptr;
}

}  // namespace strait::codec
