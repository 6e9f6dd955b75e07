// One block of up to 512 values to bytes and back. The tile (tile.hpp) places the bytes and owns
// what its blocks share: the streams of entropy-coded exponents and low halves. Pure functions on
// memory of the caller; any thread.
#pragma once

#include "codec/kernels.hpp"
#include "codec/low_half.hpp"
#include "codec/record.hpp"

namespace strait::codec {

inline constexpr size_t kMaxListBytes = 255 * 8;

// How a block will be coded, and what that costs.
struct BlockChoice {
  BlockRecord record;
  size_t plane_bytes = 0;
  size_t exponent_bytes = 0;  // of the planes, the last ones
  size_t list_bytes = 0;      // as stored, padding included
  size_t escape_bytes = 0;    // of the list, written already
};

// What the blocks of a tile put into its streams.
struct StreamParts {
  LanePieces exponents;
  LowHalves low;
};

// Cuts n values into parts and decides how to code them. Planes that will stay as they are may be
// put into plane_room already; escaped exponents are put into list, which has room for
// kMaxListBytes + kListSlack. With streams (the dense mode), a block may put its exponents there.
void choose_block(const Shape& shape, const Kernels& kernels, const void* values, size_t n,
                  BlockParts& parts, StreamParts* streams, std::span<uint8_t> plane_room,
                  uint8_t* list, BlockChoice& block);
bool all_equal(const void* values, size_t value_bytes, size_t n);
// Puts a full block's exponents into the streams, by this table and for this mean, and those that
// escape into list. False, and nothing but list changed, when those are too many.
bool use_table(const Shape& shape, const Kernels& kernels, const BlockParts& parts, uint32_t index,
               int mean, LanePieces& pieces, uint8_t* list, BlockChoice& block);
// Fills in the record of a block whose planes are all full, and whose list has escapes alone.
void set_full_planes(const Shape& shape, BlockChoice& block);
// Writes choice.plane_bytes to planes (the start of plane_room) and the rest of choice.list_bytes
// to list.
void write_block(const Shape& shape, const Kernels& kernels, const void* values, size_t n,
                 const BlockParts& parts, const BlockChoice& choice, uint8_t* planes,
                 uint8_t* list);

// What a tile's blocks read that they share.
struct StreamReader {
  const uint8_t* symbols = nullptr;  // of the next block that a table codes
  std::span<const uint8_t> low;
  LanePositions low_position;
};

// Reads a block whose planes and list have the sizes above. Returns what is wrong, or null. Uses
// parts as working memory.
const char* read_block(const Shape& shape, const Kernels& kernels, const BlockRecord& record,
                       std::span<const uint8_t> plane_area, std::span<const uint8_t> list_area,
                       size_t n, StreamReader& streams, BlockParts& parts, void* values);

}  // namespace strait::codec
