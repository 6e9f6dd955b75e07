// How a block will be coded, decided by one warp that holds it, as the host's choose_block decides.
// Device code; every lane of the warp calls together; some hundred instructions, so
// that usual blocks go by usual_write.cuh.
#pragma once

#include "codec/counts.cuh"
#include "codec/flagged.cuh"
#include "codec/plane_choose.cuh"
#include "codec/values.cuh"

namespace strait::codec::gpu {

// What is the same for all blocks that a warp codes, in the fast mode or the dense one.
template <bool kDenseMode>
struct Encoder {
  static constexpr bool kDense = kDenseMode;
  const EncodeTables& tables;
};

struct BlockCode {
  // The same in all lanes.
  BlockRecord record;
  uint32_t plane_bytes = 0;
  uint32_t escape_bytes = 0;
  uint32_t list_bytes = 0;  // as stored, padding included
  // This lane's: the codes of the exponents, a byte each; or, with a table, the bits of four codes.
  uint32_t code[kBlockRows] = {};
  uint32_t lengths = 0;  // of the bits, a byte for each row
  uint32_t escaped = 0;  // flags, packed
  Ranks escape_ranks = {};
  uint32_t low_bits = 0;  // in the low streams
};

// 255 for those of a lane's values in row r that belong to a block of n.
template <bool kFull>
__device__ __forceinline__ uint32_t valid_bytes(uint32_t n, int r) {
  if constexpr (kFull) return ~0u;
  const uint32_t count = values_in_row(n, r);
  return count >= 4 ? ~0u : (1u << (8 * count)) - 1;
}

// Whether all values are the first one; `first` is it then, in the columns' bytes.
template <bool kFull, class Cut>
__device__ __forceinline__ bool all_equal(const Block<Cut::kBytes>& columns, uint32_t n,
                                          uint32_t (&first)[Cut::kBytes]) {
  uint32_t differs = 0;
  if constexpr (kFull) {
#pragma unroll
    for (int b = 0; b < Cut::kBytes; ++b) {
      const uint32_t row = columns.word[0][b];
      differs |= row ^ __byte_perm(row, row, 0x0321);
    }
    if (__any_sync(kAllLanes, differs != 0)) return false;
  }
#pragma unroll
  for (int b = 0; b < Cut::kBytes; ++b) {
    first[b] = from_lane(columns.word[0][b] & 255, 0);
#pragma unroll
    for (int r = 0; r < kBlockRowsInt; ++r)
      differs |= (columns.word[r][b] ^ each_byte(first[b])) & valid_bytes<kFull>(n, r);
  }
  return __all_sync(kAllLanes, differs == 0);
}

template <class Cut>
__device__ __forceinline__ ExponentRows exponents_of(const Block<Cut::kBytes>& columns) {
  ExponentRows e;
#pragma unroll
  for (int r = 0; r < kBlockRowsInt; ++r) {
    e.low[r] = Cut::exponents(columns.word[r]);
    e.high[r] = Cut::exponents_high(columns.word[r]);
  }
  return e;
}

// top - exponent, clamped to 255, of all four; modulo 2^E for the wide, modulo 256 for others.
template <class Cut>
__device__ __forceinline__ uint32_t below_top(const ExponentRows& e, uint32_t top, int r) {
  if constexpr (!Cut::kWide) return subtract_bytes(each_byte(top & 255), e.low[r]);
  uint32_t bytes = 0;
  for (int k = 0; k < 4; ++k) {
    const uint32_t below = (top - e.whole(r, k)) & ((1u << Cut::kExponentBits) - 1);
    bytes |= min(below, 255u) << (8 * k);
  }
  return bytes;
}

// Codes the exponents through the window of the record; the escapes are ranked.
template <bool kFull, class Cut>
__device__ __forceinline__ void code_window(const ExponentRows& e, uint32_t width, uint32_t n,
                                            BlockCode& block) {
  if (width == 0 || width == Cut::kExponentBits) {
#pragma unroll
    for (int r = 0; r < kBlockRowsInt; ++r) block.code[r] = e.low[r];
    block.escape_bytes = 0;
    return;
  }
  const uint32_t escape = (1u << width) - 1;
  uint32_t escaped[kBlockRows];
#pragma unroll
  for (int r = 0; r < kBlockRowsInt; ++r) {
    const uint32_t below = below_top<Cut>(e, block.record.top, r);
    const uint32_t valid = valid_bytes<kFull>(n, r);
    escaped[r] = at_least(below, escape) & valid;
    block.code[r] = (below | mask_of(escaped[r])) & each_byte(escape) & valid;
  }
  block.escaped = pack_flags(escaped);
  block.escape_ranks = rank(escaped);
  block.escape_bytes = block.escape_ranks.total() * Cut::shape().top_bytes();
}

// The symbols of a row: min(top - exponent, 15), 14 for exponent zero.
template <class Cut>
__device__ __forceinline__ uint32_t symbols_of(const ExponentRows& e, uint32_t top, bool zeros,
                                               int r) {
  const uint32_t below = below_top<Cut>(e, top, r);
  const uint32_t near = (below | mask_of(at_least(below, kNearSymbols))) & 0x0F0F0F0Fu;
  if (!zeros) return near;
  const uint32_t nonzero = mask_of(at_least(e.low[r] | e.high[r], 1));
  return (near & nonzero) | (each_byte(kSymbolZero) & ~nonzero);
}

// The codes of a row behind each other; their length, and 1 << 16 for each escape, are returned.
__device__ __forceinline__ uint32_t join_codes(const uint2* codes, uint32_t symbols,
                                               uint32_t& bits) {
  const uint32_t eights = symbols << 3;  // of a code's bytes
  const auto code = [&](uint32_t k) {
    return *reinterpret_cast<const uint2*>(reinterpret_cast<const std::byte*>(codes) +
                                           permute(eights, 0, 0x4440 + k));
  };
  const uint2 a = code(0), b = code(1), c = code(2), d = code(3);
  const uint32_t two = a.y + b.y, three = two + c.y;
  // Shifts look at the lowest five bits alone.
  bits = a.x | __funnelshift_l(0, b.x, a.y) | __funnelshift_l(0, c.x, two) |
         __funnelshift_l(0, d.x, three);
  return three + d.y;
}

// Puts the exponents into the streams where that is cheaper than window_bytes.
template <class Cut>
__device__ __forceinline__ bool try_table(const EncodeTables& tables, const ExponentRows& e,
                                          const TableChoice& choice, uint32_t mean,
                                          uint32_t window_bytes, BlockCode& block) {
  if (choice.bits / 8 >= window_bytes) return false;
  const uint32_t top = mean + tables.above[choice.table];
  const uint2* const codes = tables.code[choice.table];
  const bool zeros = Cut::kWide || choice.zeros;
  uint32_t symbols[kBlockRows], lengths = 0, escapes = 0;
#pragma unroll
  for (int r = 0; r < kBlockRowsInt; ++r) {
    symbols[r] = symbols_of<Cut>(e, top, zeros, r);
    const uint32_t sum = join_codes(codes, symbols[r], block.code[r]);
    lengths |= (sum & 255) << (8 * r);
    escapes += sum / kEscapedCode;
  }
  block.escape_bytes = 0;
  if (__any_sync(kAllLanes, escapes != 0)) {
    uint32_t escaped[kBlockRows];
#pragma unroll
    for (int r = 0; r < kBlockRowsInt; ++r) {
      escaped[r] = 0;
      for (uint32_t k = 0; k < 4; ++k)
        escaped[r] |= codes[byte_of(symbols[r], k)].y / kEscapedCode << (8 * k + 7);
    }
    block.escaped = pack_flags(escaped);
    block.escape_ranks = rank(escaped);
    block.escape_bytes = block.escape_ranks.total() * Cut::shape().top_bytes();
  }
  if (block.escape_bytes > 255) return false;
  block.lengths = lengths;
  block.record.kind = static_cast<uint8_t>(kMethodTable + choice.table);
  block.record.top = static_cast<uint16_t>(Cut::kWide ? top : top & 255);
  return true;
}

// Exponents as bytes: double's, the largest as 255 where they reach beyond; what is too low becomes
// 0. Returns what was taken off.
template <class Cut>
__device__ __forceinline__ uint32_t narrow(const ExponentRows& e, ExponentBytes& bytes) {
  uint32_t largest = 0;
  if constexpr (Cut::kWide) {
#pragma unroll
    for (int r = 0; r < kBlockRowsInt; ++r)
      for (int k = 0; k < 4; ++k) largest = max(largest, e.whole(r, k));
    largest = warp_max(largest);
  }
  const uint32_t offset = largest > 255 ? largest - 255 : 0;
#pragma unroll
  for (int r = 0; r < kBlockRowsInt; ++r) {
    bytes.row[r] = e.low[r];
    if constexpr (Cut::kWide) {
      bytes.row[r] = 0;
      for (int k = 0; k < 4; ++k) bytes.row[r] |= (max(e.whole(r, k), offset) - offset) << (8 * k);
    }
  }
  return offset;
}

template <class Cut>
__device__ __forceinline__ void use_window(uint32_t width, uint32_t top, BlockRecord& record) {
  record.kind = static_cast<uint8_t>(kMethodWindow + width);
  record.top = static_cast<uint16_t>(width < Cut::kExponentBits ? top : 0);
}

template <bool kFull, class Cut, class Encoder>
__device__ __forceinline__ void choose_exponents(const Encoder& encoder, const ExponentRows& e,
                                                 uint32_t n, BlockCode& block) {
  if constexpr (kFull && !Cut::kWide && !Encoder::kDense) {
    uint32_t none = 0;
    const GuessedWindow guess =
        guess_window(GuessLane(encoder.tables, Cut::kExponentBits), Cut::kExponentBits,
                     sampled(~e.low[0], ~e.low[kBlockRows / 2]), none);
    if (guess.found) {
      use_window<Cut>(guess.width, (guess.above - 1) & 255, block.record);
      code_window<kFull, Cut>(e, guess.width, n, block);
      if (block.escape_bytes <= kBlockValues / 8) return;
    }
  }
  ExponentBytes bytes;
#pragma unroll
  for (int r = 0; r < kBlockRowsInt; ++r) bytes.valid[r] = valid_bytes<kFull>(n, r);
  const uint32_t offset = narrow<Cut>(e, bytes);
  const WindowChoice found = choose_window<Cut>(encoder.tables, bytes, offset > 0, n);
  const Window& window = found.window;
  if constexpr (kFull && Encoder::kDense) {
    const uint32_t window_bytes = window.width * static_cast<uint32_t>(kBlockValues / 8) +
                                  window.escapes * Cut::shape().top_bytes();
    const TableChoice choice = choose_table(encoder.tables, bytes, offset > 0, found);
    const uint32_t mean = static_cast<uint32_t>(found.top - kAboveMean) + offset;
    if (window.width != 0 && try_table<Cut>(encoder.tables, e, choice, mean, window_bytes, block))
      return;
  }
  use_window<Cut>(window.width, window.top + offset, block.record);
  code_window<kFull, Cut>(e, window.width, n, block);
}

// The columns of a block of n values; what is beyond them is zero.
template <bool kFull, class Cut, class Encoder>
__device__ __forceinline__ void choose_block(const Encoder& encoder,
                                             const Block<Cut::kBytes>& columns, uint32_t n,
                                             BlockCode& block) {
  uint32_t first[Cut::kBytes];
  if (all_equal<kFull, Cut>(columns, n, first)) {
    uint32_t any = 0;
    for (int b = 0; b < Cut::kBytes; ++b) any |= first[b];
    if (any == 0) return;
    block.record.kind = kMethodConstant;
    block.record.list = Cut::kBytes;
    block.list_bytes = Cut::kBytes;
    return;
  }
  choose_exponents<kFull, Cut>(encoder, exponents_of<Cut>(columns), n, block);
  choose_planes<kFull, Cut, Encoder::kDense>(encoder.tables, columns, n, block.escape_bytes,
                                             block.record, block.list_bytes, block.low_bits);
  block.plane_bytes = static_cast<uint32_t>(plane_bytes_of(Cut::shape(), block.record, n));
}

}  // namespace strait::codec::gpu
