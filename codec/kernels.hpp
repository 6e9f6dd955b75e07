// The inner loops of the codec: cutting values into parts, counting, packing bits, short lists of
// what does not fit. One implementation per instruction set, all giving the same bytes;
// best_kernels() picks by the processor's features. Pure functions on arrays of one block that stay
// in the first-level cache; any thread.
#pragma once

#include "codec/format.hpp"
#include "codec/streams.hpp"
#include "codec/tables/tables.hpp"

namespace strait::codec {

// One block, cut. Fields of the type's exponent, byte planes and bit planes; the rest is unused.
struct alignas(64) BlockParts {
  BlockParts() = default;
  BlockParts(const BlockParts&) = delete;

  uint8_t exponent_room[kBlockValues];
  uint8_t exponent_high[kBlockValues];             // what exceeds them (fp64)
  uint8_t bits[kBlockValues];                      // the residual's bits above its byte planes
  uint8_t exponent_planes[11 * kBlockValues / 8];  // the exponents' codes, once they are chosen
  uint8_t room[kMaxBytePlanes][kBlockValues];
  uint8_t* exponent = exponent_room;  // its low eight bits
  // Where split puts the planes: in room, or where they are to be in the end.
  uint8_t* split_to[kMaxBytePlanes] = {room[0], room[1], room[2], room[3], room[4], room[5]};
  uint8_t* exponents_to = exponent_planes;    // likewise
  const uint8_t* plane[kMaxBytePlanes] = {};  // where each plane is, for join
};

inline constexpr size_t kListSlack = 64;     // kernels may write that far beyond a list
inline constexpr size_t kSampleValues = 64;  // from a block's start, and as many from its middle
// A plane of random bytes has n / 256 zeros; one with a zero half often has n / 16.
inline constexpr size_t kFewZeros = 32;
inline constexpr size_t kSampledZeros = 2 * kSampleValues / kFewZeros;  // that call for a count
inline constexpr int kBins = 15;
inline constexpr int kAboveMean = 6;

// How often the exponents top, top - 1, ... occur, modulo 256.
struct ExponentBins {
  int top = 0;                     // kAboveMean above the mean
  uint16_t count[kBins + 1] = {};  // the last one is unused
};

struct ExponentRange {
  uint32_t min = 0;
  uint32_t max = 0;
  uint32_t zeros = 0;  // how many are zero
  uint32_t sum = 0;
};

inline constexpr int kSearchedWidths = 4;  // a window of 15 exponents fits the bins

// For each width of a window, 1 to 4: the least that any place leaves out, and the first such place
// (bins from the top); kNoPlace where there is none.
struct WindowPlaces {
  uint32_t counted = 0;  // in all bins
  uint16_t outside[kSearchedWidths] = {};
  uint8_t first[kSearchedWidths] = {};
};

// A window that is probably cheap. Width 0: none, or the sample has so few exponents that a closer
// look pays.
struct WindowGuess {
  uint8_t width = 0;  // 2 to 4
  uint8_t top = 0;
};

// Counts of a tile's full blocks, whose exponents are bytes.
struct TileCounts {
  int top[kTileBlocks];  // of the bins
  uint16_t zeros[kTileBlocks];
  uint16_t bins[kTileBlocks][kBins + 1];  // the last one is unused
};

struct TileChoices {
  uint16_t table[kTileBlocks];
  uint16_t table_bits[kTileBlocks];    // about, as cheapest_table tells
  uint16_t window_bytes[kTileBlocks];  // with the cheapest window among the bins
  uint16_t counted[kTileBlocks];       // values in the bins
};

// The symbols of a tile's next block that a table codes.
struct SymbolRead {
  const PrefixCode* code;
  const uint8_t* streams;
  LanePositions* position;  // moves on
  uint8_t* symbols;
};

// Usual blocks: full ones of bfloat16 whose residuals are as they are, with a window of two to four
// bits or, for decoding, a table. Most blocks of most tensors are usual.
constexpr bool has_usual_blocks(const Shape& shape) {
  return shape.value_bytes == 2 && shape.exponent_bits == 8;
}
constexpr uint8_t usual_kind(size_t width) {
  return static_cast<uint8_t>(kMethodWindow + width + (static_cast<size_t>(PlaneMode::kFull) << 6));
}
// The width of a usual block's window, 0 when the block is not usual.
constexpr size_t usual_width(const BlockRecord& record) {
  const auto width = static_cast<size_t>(record.kind) - usual_kind(0);
  return width >= 2 && width <= 4 ? width : 0;
}

constexpr bool is_usual_table(const BlockRecord& record) {
  return record.kind >> 6 == static_cast<int>(PlaneMode::kFull) && record.method() >= kMethodTable;
}

// What usual blocks are read from; moves on.
struct UsualParts {
  const uint8_t* planes;
  const uint8_t* list;
  const uint8_t* symbols;
};

// Where the fields of the first block's record belong, those of the next ones behind them.
struct UsualRecords {
  uint8_t* top;
  uint8_t* kind;
  uint8_t* list;
};

// Where planes and lists go next, and how many bytes both may still take.
struct UsualRoom {
  uint8_t* planes;
  uint8_t* list;
  size_t bytes;
};
inline constexpr size_t kUsualRoom = 2 * kBlockValues;  // that a block needs at hand

struct Kernels {
  const char* name;
  // Everywhere: 0 < n <= kBlockValues, and only the portable kernels take n below kBlockValues (but
  // for count_zeros, which also takes kSampleValues).
  void (*split)(const Shape& shape, const void* values, size_t n, BlockParts& parts);
  void (*join)(const Shape& shape, const BlockParts& parts, size_t n, void* values);
  uint32_t (*sum)(const uint8_t* bytes, size_t n);
  ExponentRange (*range)(const uint8_t* bytes, size_t n);
  void (*count)(const uint8_t* bytes, size_t n, ExponentBins& bins);  // from bins.top down
  void (*find_windows)(const ExponentBins& bins, size_t n, WindowPlaces& places);
  // A guess for a full block, from kSampleValues at its start and as many at its middle.
  void (*guess_window)(const uint8_t* bytes, int exponent_bits, WindowGuess& guess);
  size_t (*count_zeros)(const uint8_t* bytes, size_t n, uint8_t mask);  // of byte & mask
  // Bit p of all codes makes the p-th of `width` planes, bit_bytes(n) bytes each.
  void (*pack_bits)(const uint8_t* codes, size_t n, size_t width, uint8_t* planes);
  void (*unpack_bits)(const uint8_t* planes, size_t n, size_t width, uint8_t* codes);
  // Codes are min(top - byte modulo 256, 2^width - 1), packed; bytes with the largest code are
  // appended to list, which has room for n + kListSlack. Returns how many.
  size_t (*pack_window)(const uint8_t* bytes, size_t n, size_t width, uint8_t top, uint8_t* planes,
                        uint8_t* list);
  // The reverse; every byte is reduced by mask. Returns how many bytes of the list belong to it,
  // which may be more than list_bytes (then nothing sensible is in bytes). Reads nothing beyond
  // list_bytes.
  size_t (*unpack_window)(const uint8_t* planes, size_t n, size_t width, uint8_t top, uint8_t mask,
                          const uint8_t* list, size_t list_bytes, uint8_t* bytes);
  // A bit for each byte that is not zero, and those bytes appended to list, which has room for n +
  // kListSlack. Returns how many.
  size_t (*pack_nonzero)(const uint8_t* bytes, size_t n, uint8_t* bits, uint8_t* list);
  // The reverse; returns as unpack_window.
  size_t (*unpack_nonzero)(const uint8_t* bits, size_t n, const uint8_t* list, size_t list_bytes,
                           uint8_t* bytes);
  // The same for the halves of bytes at bit `shift`, 0 or 4, two of those that are not zero to a
  // byte of the list. Returns the bytes of the list. Unpacked halves are added to what is in bytes.
  size_t (*pack_halves)(const uint8_t* bytes, size_t n, int shift, uint8_t* bits, uint8_t* list);
  size_t (*unpack_halves)(const uint8_t* bits, size_t n, int shift, const uint8_t* list,
                          size_t list_bytes, uint8_t* bytes);

  // The dense mode. The cheapest exponent table for these counts (kPrices says of what): its
  // number, and its bits.
  uint32_t (*cheapest_table)(const uint16_t counts[kPriced], uint32_t& bits);
  // What a table's choice depends on, for a full block: sum, count and count_zeros in one.
  void (*survey)(const uint8_t* bytes, size_t block, TileCounts& counts);
  // Windows and tables for so many blocks.
  void (*choose_tables)(const TileCounts& counts, int exponent_bits, TileChoices& choices);
  // Symbols of a block; escaped bytes are appended to list, which has room for n + kListSlack.
  // Returns how many.
  size_t (*to_symbols)(const ExponentTable& table, const uint8_t* bytes, uint8_t top,
                       uint8_t* symbols, uint8_t* list);
  // The reverse; returns as unpack_window.
  size_t (*from_symbols)(const uint8_t* symbols, uint8_t top, uint8_t mask, const uint8_t* list,
                         size_t list_bytes, uint8_t* bytes);
  // The codes of a block's symbols, eight or sixteen to a piece; returns how many pieces they make.
  size_t (*to_pieces)(const PrefixCode& code, const uint8_t* symbols, uint64_t* bits,
                      uint8_t* count);
  AppendLanes append_lanes;
  // A block's symbols out of the streams of one tile, or of two side by side. May read kStreamSlack
  // bytes beyond the positions that it reaches.
  void (*read_symbols)(const SymbolRead* reads, size_t count);

  // Null where there is no better way than value by value: a block's low halves (low_half.hpp) out
  // of streams that may be read 54 bytes beyond each position.
  void (*read_low)(const PrefixCode& code, const uint8_t* streams, LanePositions& position,
                   uint8_t* plane0, uint8_t* plane1);

  // Null where there is no better way than block by block. Encodes blocks of bfloat16 up to the
  // first that is not usual; returns how many, and moves the room on. Up to kListSlack bytes beyond
  // a list are overwritten, and the whole room of planes.
  size_t (*encode_usual)(const uint8_t* values, size_t blocks, const UsualRecords& records,
                         UsualRoom& room);
  // The reverse: decodes up to the first block that is not usual, or whose list is not as long as
  // its record says. May read kBlockValues bytes beyond a list.
  size_t (*decode_usual)(const BlockRecord* records, size_t blocks, UsualParts& from,
                         uint8_t* values);
};

inline constexpr size_t kStreamSlack = 8;

const Kernels& portable_kernels();

}  // namespace strait::codec
