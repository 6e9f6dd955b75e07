// Usual blocks (kernels.hpp) with AVX-512: a block is cut, its exponents packed and its escapes
// listed without leaving the registers, whatever its window's width, so that no branch needs to be
// guessed. Windows are found for several blocks ahead, as each is the end of a long chain of
// instructions that wait for each other. Included by target_avx512.cpp, in whose namespace it stays
// (simd.hpp says why). Any thread; about 300 instructions per block either way.
#pragma once

#include "codec/bfloat16_avx512.hpp"
#include "codec/counts_avx512.hpp"

namespace strait::codec::avx512 {
namespace {

constexpr size_t kAhead = 8;  // blocks whose windows are found at once

// What the guess needs of 64 values: their exponents, in any order, and which residuals are zero.
struct Sample {
  __m512i exponents;
  uint64_t zero_residuals;

  explicit Sample(const uint8_t* values) {
    const auto rotated = [](const uint8_t* at) {
      const __m512i words = load64(at);
      return _mm512_shldi_epi16(words, words, 1);
    };
    constexpr int kSelect = 0xCA;
    const __m512i high_bytes = _mm512_set1_epi16(static_cast<short>(0xFF00));
    const __m512i a = rotated(values), b = rotated(values + 64);
    exponents = _mm512_ternarylogic_epi32(high_bytes, b, _mm512_srli_epi16(a, 8), kSelect);
    const __m512i residuals =
        _mm512_ternarylogic_epi32(high_bytes, _mm512_slli_epi16(b, 8), a, kSelect);
    zero_residuals = _mm512_testn_epi8_mask(residuals, residuals);
  }
};

// The window of a block; width 0 where the block is not usual.
inline WindowGuess usual_window(const uint8_t* values) {
  const Sample start(values), middle(values + kBlockValues);
  WindowGuess guess = guess_of_sample(start.exponents, middle.exponents, 8);
  if (ones(start.zero_residuals) + ones(middle.zero_residuals) >= kSampledZeros) guess.width = 0;
  return guess;
}

// Writes the residuals to where they belong.
inline void cut_block(const uint8_t* values, uint8_t* residuals, __m512i exponents[kVectors]) {
  for (size_t v = 0; v < kVectors; ++v) {
    __m512i residual;
    cut_bfloat16(values + 128 * v, residual, exponents[v]);
    _mm512_storeu_si512(residuals + 64 * v, residual);
  }
}

// Writes a block's planes, and behind them up to two that are not its own. Returns how many bytes
// were put into list.
inline size_t encode_usual_block(const uint8_t* values, WindowGuess window, uint8_t* planes,
                                 uint8_t* list) {
  __m512i exponents[kVectors], codes[kVectors], bits[4];
  cut_block(values, planes, exponents);
  planes += kBlockValues;
  const __m512i top = set(window.top), escape = set((1 << window.width) - 1);
  for (size_t v = 0; v < kVectors; ++v)
    codes[v] = _mm512_min_epu8(_mm512_sub_epi8(top, exponents[v]), escape);
  transpose_codes(codes, bits);
  for (size_t p = 0; p < 4; ++p) _mm512_storeu_si512(planes + p * kStride, bits_reversed(bits[p]));
  size_t taken = 0;
  for (size_t v = 0; v < kVectors; ++v) {
    const uint64_t escapes = _mm512_cmpeq_epi8_mask(codes[v], escape);
    _mm512_storeu_si512(list + taken, _mm512_maskz_compress_epi8(escapes, exponents[v]));
    taken += ones(escapes);
  }
  return taken;
}

size_t encode_usual(const uint8_t* values, size_t blocks, const UsualRecords& records,
                    UsualRoom& room) {
  WindowGuess windows[kAhead];
  for (size_t block = 0; block < blocks; ++block) {
    const uint8_t* const in = values + block * 2 * kBlockValues;
    if (block % kAhead == 0) {
      const size_t known = blocks - block < kAhead ? blocks - block : kAhead;
      for (size_t k = 0; k < known; ++k) windows[k] = usual_window(in + k * 2 * kBlockValues);
    }
    const WindowGuess window = windows[block % kAhead];
    if (window.width == 0 || room.bytes < kUsualRoom) return block;
    const size_t escapes = encode_usual_block(in, window, room.planes, room.list);
    if (escapes > kStride) return block;
    const size_t plane_bytes = kBlockValues + window.width * kStride;
    records.top[block] = window.top;
    records.kind[block] = usual_kind(window.width);
    records.list[block] = static_cast<uint8_t>(escapes);
    room.planes += plane_bytes;
    room.list += escapes;
    room.bytes -= plane_bytes + escapes;
  }
  return blocks;
}

// The codes of a block, four bits each, out of up to four planes.
inline void read_codes(const uint8_t* planes, size_t width, __m512i codes[kVectors]) {
  __m512i bits[4], rows[4];
  for (size_t p = 0; p < 4; ++p)
    bits[p] = _mm512_maskz_loadu_epi64(p < width ? 0xFF : 0, planes + p * kStride);
  transpose_quarters(bits, rows);
  alignas(64) static constexpr struct Order {
    uint8_t from[64];
    constexpr Order() : from() {
      for (int i = 0; i < 64; ++i)
        from[8 * (i / 8) + 7 - i % 8] =
            static_cast<uint8_t>(16 * (i % 4) + (i % 8 >= 4 ? 8 : 0) + i / 8);
    }
  } kOrder;
  const __m512i units = _mm512_set1_epi64(static_cast<long long>(0x8040201008040201));
  for (size_t k = 0; k < 4; ++k) {
    const __m512i pairs = _mm512_gf2p8affine_epi64_epi8(
        units, _mm512_permutexvar_epi8(_mm512_load_si512(kOrder.from), rows[k]), 0);
    codes[2 * k] = _mm512_and_si512(pairs, set(15));
    codes[2 * k + 1] = _mm512_and_si512(_mm512_srli_epi16(pairs, 4), set(15));
  }
}

// What is read and written four blocks later, where so many follow: the processor's own prefetching
// starts anew with every page, and stops while a reduction goes on between two reads.
constexpr size_t kFetchAhead = 4;

inline void fetch_planes(const uint8_t* planes) {
  constexpr size_t kPlanes = kBlockValues + 3 * kStride;
  for (size_t at = 0; at < kPlanes; at += 64)
    __builtin_prefetch(planes + kFetchAhead * kPlanes + at);
}

inline void fetch_values(const uint8_t* values) {
  for (size_t at = 0; at < 2 * kBlockValues; at += 64)
    __builtin_prefetch(values + kFetchAhead * 2 * kBlockValues + at, 1);
}

// Returns how many escapes there are.
inline size_t decode_usual_block(const uint8_t* planes, size_t width, uint8_t top,
                                 const uint8_t* list, uint8_t* values) {
  __m512i codes[kVectors];
  read_codes(planes + kBlockValues, width, codes);
  const __m512i escape = set((1 << width) - 1);
  size_t taken = 0;
  for (size_t v = 0; v < kVectors; ++v) {
    const uint64_t escapes = _mm512_cmpeq_epi8_mask(codes[v], escape);
    const __m512i exponents =
        _mm512_mask_expand_epi8(_mm512_sub_epi8(set(top), codes[v]), escapes, load64(list + taken));
    join_bfloat16(load64(planes + 64 * v), exponents, values + 128 * v);
    taken += ones(escapes);
  }
  return taken;
}

// The same for a block that a table codes.
inline size_t decode_symbols(const uint8_t* planes, const uint8_t* symbols, uint8_t top,
                             const uint8_t* list, uint8_t* values) {
  size_t taken = 0;
  for (size_t v = 0; v < kVectors; ++v) {
    const __m512i symbol = load64(symbols + 64 * v);
    const uint64_t escapes = _mm512_cmpeq_epi8_mask(symbol, set(kSymbolEscape));
    const __m512i near =
        _mm512_maskz_sub_epi8(_mm512_cmpneq_epi8_mask(symbol, set(kSymbolZero)), set(top), symbol);
    const __m512i exponents = _mm512_mask_expand_epi8(near, escapes, load64(list + taken));
    join_bfloat16(load64(planes + 64 * v), exponents, values + 128 * v);
    taken += ones(escapes);
  }
  return taken;
}

size_t decode_usual(const BlockRecord* records, size_t blocks, UsualParts& from, uint8_t* values) {
  for (size_t block = 0; block < blocks; ++block, values += 2 * kBlockValues) {
    const BlockRecord& record = records[block];
    fetch_planes(from.planes);
    if (block + kFetchAhead < blocks) fetch_values(values);
    const size_t width = usual_width(record);
    const auto top = static_cast<uint8_t>(record.top);
    size_t escapes = 0;
    if (width != 0)
      escapes = decode_usual_block(from.planes, width, top, from.list, values);
    else if (is_usual_table(record))
      escapes = decode_symbols(from.planes, from.symbols, top, from.list, values);
    else
      return block;
    if (escapes != record.list) return block;
    from.planes += kBlockValues + width * kStride;
    from.list += escapes;
    if (width == 0) from.symbols += kBlockValues;
  }
  return blocks;
}

}  // namespace
}  // namespace strait::codec::avx512
