// One tile, up to 16384 values: the records of its blocks, their planes, their lists, their
// streams. A tile needs nothing but its own bytes, so tiles can be coded side by side. Pure
// functions on memory of the caller; any thread; the encoder keeps lists and streams on its stack
// (130 KiB) until the planes are written, the reader holds copies of lists and streams, and symbols
// (41 KiB).
#pragma once

#include <span>

#include "codec/block.hpp"
#include "codec/codec.hpp"

namespace strait::codec {

// Writes at most `room` bytes, a multiple of kAlign. Returns how many, or 0 when they do not
// suffice.
size_t encode_tile(const Shape& shape, const Kernels& kernels, Mode mode, const void* values,
                   size_t n, std::byte* out, size_t room);

// What is wrong where a chunk needs a table of the user that is not here.
inline constexpr char kTableMissing[] = "it is coded by a table of the user that is not here";

// Reads block after block of a tile. Every size is checked when it is opened, so that reading stays
// within it.
class TileReader {
 public:
  // Returns what is wrong, or null. The bytes must stay while the reader is used.
  const char* open(const Shape& shape, const Kernels& kernels, std::span<const std::byte> tile,
                   size_t n);
  // Decodes the symbols of all blocks of one tile, or of two side by side; before any read().
  static void read_symbols(TileReader* readers, size_t count);
  // Decodes the next block, and more while they are at hand: `count` values, at most `most`, which
  // is at least next_values(). Returns what is wrong, or null; what only shows at the tile's end is
  // said with its last block.
  const char* read(BlockParts& parts, size_t most, void* values, size_t& count);
  size_t next_values() const;  // values of the next block; 0 at the end

 private:
  static constexpr size_t kMostLaneBytes = kTileValues / kLanes * kMostCodeBits / 8;

  const char* open_all_streams(std::span<const uint8_t> in, bool exponents, bool low);
  void copy_lists(size_t bytes);
  SymbolRead symbols_of(size_t block);
  const char* read_next_block(BlockParts& parts, size_t count, void* values);

  Shape shape_;
  const Kernels* kernels_ = nullptr;
  const uint8_t* planes_ = nullptr;
  const uint8_t* list_ = nullptr;
  size_t values_ = 0;
  size_t block_ = 0;
  size_t tables_ = 0;           // blocks that tables code
  uint8_t table_[kTileBlocks];  // theirs
  bool usual_ = false;          // usual blocks may be read several at a time
  BlockRecord records_[kTileBlocks];
  uint32_t plane_bytes_[kTileBlocks];
  StreamReader streams_;
  LanePositions exponent_position_;
  LanePositions exponent_end_;
  LanePositions low_end_;
  uint8_t list_copy_[kTileBlocks * 255 + kBlockValues];
  uint8_t stream_copy_[(kLanes + 1) * kMostLaneBytes + kStreamSlack];
  alignas(64) uint8_t symbols_[kTileValues];
};

}  // namespace strait::codec
