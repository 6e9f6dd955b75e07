// One block of up to 512 values to bytes and back, by the fast methods. The tile (tile.hpp) places
// the bytes. Pure functions on memory of the caller; any thread.
#pragma once

#include "codec/kernels.hpp"

namespace strait::codec {

// How a block will be coded, and what that costs.
struct BlockChoice {
  BlockRecord record;
  size_t plane_bytes = 0;
  size_t list_bytes = 0;  // as stored, padding included
};

inline constexpr size_t kMaxListBytes = 255 * 8;

// Bytes in the planes area of a block with this record; the record's methods must be valid for the
// shape.
size_t plane_bytes_of(const Shape& shape, const BlockRecord& record, size_t n);
// Bytes in the list area of a block with this record.
size_t list_bytes_of(const Shape& shape, const BlockRecord& record);
// What is wrong with a record, or null.
const char* check_record(const Shape& shape, const BlockRecord& record);

// Cuts n values into parts and decides how to code them.
BlockChoice choose_block(const Shape& shape, const Kernels& kernels, const void* values, size_t n,
                         BlockParts& parts);
// Writes choice.plane_bytes to planes and choice.list_bytes to list.
void write_block(const Shape& shape, const Kernels& kernels, const void* values, size_t n,
                 const BlockParts& parts, const BlockChoice& choice, uint8_t* planes,
                 uint8_t* list);

// Reads a block whose planes and list have the sizes above. Returns what is wrong, or null. Uses
// parts as working memory.
const char* read_block(const Shape& shape, const Kernels& kernels, const BlockRecord& record,
                       const uint8_t* planes, const uint8_t* list, size_t n, BlockParts& parts,
                       void* values);

}  // namespace strait::codec
