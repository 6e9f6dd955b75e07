// The codes of the dense mode with AVX-512, 32 lanes side by side. Included by target_avx512.cpp,
// in whose namespace it stays (simd.hpp says why). Any thread; about four instructions per value.
#pragma once

#include <immintrin.h>

#include "codec/kernels.hpp"

namespace strait::codec::avx512 {
namespace {

inline __m512i load512(const void* at) {
  return _mm512_loadu_si512(at);
}

uint32_t cheapest_table(const uint16_t counts[kPriced], uint32_t& bits) {
  static_assert(kExponentTables == 32, "one vector of prices");
  __m512i cost = _mm512_setzero_si512();
  for (int k = 0; k < kPriced; ++k)
    cost = _mm512_add_epi16(cost,
                            _mm512_mullo_epi16(load512(kPrices[k].data()),
                                               _mm512_set1_epi16(static_cast<short>(counts[k]))));
  // The least of each quarter and its place; the first quarter wins a tie.
  uint32_t best = ~0u;
  const __m128i quarter[4] = {_mm512_castsi512_si128(cost), _mm512_extracti32x4_epi32(cost, 1),
                              _mm512_extracti32x4_epi32(cost, 2),
                              _mm512_extracti32x4_epi32(cost, 3)};
  for (uint32_t q = 0; q < 4; ++q) {
    const auto least = static_cast<uint32_t>(_mm_cvtsi128_si32(_mm_minpos_epu16(quarter[q])));
    const uint32_t candidate = (least & 0xFFFF) << 8 | ((least >> 16) + 8 * q);
    best = candidate < best ? candidate : best;
  }
  bits = best >> 8;
  return best & 255;
}

// Codes and lengths of four neighbours become one, in double words of 16 lanes: bytes to words to
// double words.
inline void join_four(__m512i codes, __m512i lengths, const uint8_t* symbols, __m512i& bits,
                      __m512i& count) {
  const __m512i low_byte = _mm512_set1_epi16(255), low_word = _mm512_set1_epi32(0xFFFF);
  const __m512i symbol = load512(symbols);
  const __m512i c = _mm512_shuffle_epi8(codes, symbol);
  const __m512i n = _mm512_shuffle_epi8(lengths, symbol);
  const __m512i second = _mm512_sllv_epi16(_mm512_srli_epi16(c, 8), _mm512_and_si512(n, low_byte));
  const __m512i pair = _mm512_or_si512(_mm512_and_si512(c, low_byte), second);
  const __m512i pair_length = _mm512_maddubs_epi16(n, _mm512_set1_epi8(1));
  const __m512i upper =
      _mm512_sllv_epi32(_mm512_srli_epi32(pair, 16), _mm512_and_si512(pair_length, low_word));
  bits = _mm512_or_si512(_mm512_and_si512(pair, low_word), upper);
  count = _mm512_madd_epi16(pair_length, _mm512_set1_epi16(1));
}

inline __m512i widened(__m512i words, int half) {
  return _mm512_cvtepu32_epi64(half == 0 ? _mm512_castsi512_si256(words)
                                         : _mm512_extracti64x4_epi64(words, 1));
}

// Bits behind others, of which there are `below` (in double words); eight lanes in either half.
inline void put_behind(__m512i below, const __m512i* next, __m512i* bits) {
  for (int half = 0; half < 2; ++half)
    bits[half] = _mm512_or_si512(bits[half], _mm512_sllv_epi64(next[half], widened(below, half)));
}

// Two rows of sixteen lanes: eight values each.
inline __m512i two_rows(__m512i codes, __m512i lengths, const uint8_t* symbols, __m512i* bits) {
  __m512i low, low_count, high, high_count;
  join_four(codes, lengths, symbols, low, low_count);
  join_four(codes, lengths, symbols + kRowValues, high, high_count);
  const __m512i next[2] = {widened(high, 0), widened(high, 1)};
  bits[0] = widened(low, 0);
  bits[1] = widened(low, 1);
  put_behind(low_count, next, bits);
  return _mm512_add_epi32(low_count, high_count);
}

inline void store_pieces(const __m512i* bits, __m512i length, uint64_t* to, uint8_t* count) {
  _mm512_storeu_si512(to, bits[0]);
  _mm512_storeu_si512(to + 8, bits[1]);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(count), _mm512_cvtepi32_epi8(length));
}

// Pieces of four rows, or of two; false when some are too long.
template <bool whole>
bool make_pieces(__m512i codes, __m512i lengths, const uint8_t* symbols, uint64_t* bits,
                 uint8_t* count) {
  for (size_t lanes = 0; lanes < kLanes; lanes += 16) {
    __m512i first[2], second[2];
    const uint8_t* const from = symbols + 4 * lanes;
    const __m512i first_length = two_rows(codes, lengths, from, first);
    const __m512i second_length = two_rows(codes, lengths, from + 2 * kRowValues, second);
    if constexpr (whole) {
      const __m512i length = _mm512_add_epi32(first_length, second_length);
      if (_mm512_cmpgt_epu32_mask(length, _mm512_set1_epi32(64)) != 0) return false;
      put_behind(first_length, second, first);
      store_pieces(first, length, bits + lanes, count + lanes);
    } else {
      store_pieces(first, first_length, bits + lanes, count + lanes);
      store_pieces(second, second_length, bits + kLanes + lanes, count + kLanes + lanes);
    }
  }
  return true;
}

size_t to_pieces(const PrefixCode& code, const uint8_t* symbols, uint64_t* bits, uint8_t* count) {
  const auto table = [](const uint8_t* bytes) {
    return _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
  };
  const __m512i codes = table(code.bits), lengths = table(code.length);
  // Sixteen values that a table suits take some forty bits.
  if (make_pieces<true>(codes, lengths, symbols, bits, count)) return kLanes;
  make_pieces<false>(codes, lengths, symbols, bits, count);
  return 2 * kLanes;
}

// The bits that come next in the 32 lanes of a tile's streams, inverted, and how many of them are
// used. Lanes come as double words of 16 lanes, or as words: lanes k and 16 + k side by side.
struct NextBits {
  __m512i low[2];   // of 16 lanes each
  __m512i high[2];  // the next 32
  __m512i used;     // words; at most 64

  // At least 57 unused bits of each lane.
  void load(const uint8_t* streams, const LanePositions& position) {
    const __m512i even =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
    __m512i offset[2];
    for (int g = 0; g < 2; ++g) {
      const __m512i at = load512(position.bit + 16 * g), byte = _mm512_srli_epi32(at, 3);
      offset[g] = _mm512_and_si512(at, _mm512_set1_epi32(7));
      const __m512i a = gathered(streams, _mm512_castsi512_si256(byte));
      const __m512i b = gathered(streams, _mm512_extracti64x4_epi64(byte, 1));
      low[g] = _mm512_permutex2var_epi32(a, even, b);
      high[g] = _mm512_permutex2var_epi32(a, odd, b);
    }
    used = _mm512_or_si512(offset[0], _mm512_slli_epi32(offset[1], 16));
  }
  static __m512i gathered(const uint8_t* streams, __m256i byte) {
    return _mm512_xor_si512(_mm512_i32gather_epi64(byte, streams, 1), _mm512_set1_epi32(-1));
  }
  // Where the bits were loaded and `taken` of them used.
  static void move(LanePositions& position, __m512i taken) {
    const __m512i part[2] = {_mm512_and_si512(taken, _mm512_set1_epi32(0xFFFF)),
                             _mm512_srli_epi32(taken, 16)};
    for (int g = 0; g < 2; ++g) {
      const __m512i byte = _mm512_and_si512(load512(position.bit + 16 * g), _mm512_set1_epi32(~7));
      _mm512_storeu_si512(position.bit + 16 * g, _mm512_add_epi32(byte, part[g]));
    }
  }

  // The next 16 bits of every lane; sensible as far as they are loaded.
  __m512i words() const {
    const __m512i a = window(0, used), b = window(1, _mm512_srli_epi32(used, 16));
    return _mm512_mask_mov_epi16(a, 0xAAAAAAAA, _mm512_slli_epi32(b, 16));
  }
  __m512i window(int g, __m512i from) const {
    const __mmask16 in_high = _mm512_test_epi32_mask(from, _mm512_set1_epi32(32));
    return _mm512_shrdv_epi32(_mm512_mask_mov_epi32(low[g], in_high, high[g]), high[g], from);
  }
};

// A code's tables, by inverted bits.
struct CodeVectors {
  __m512i first;
  __m512i second;

  explicit CodeVectors(const PrefixCode& code) {
    alignas(64) static constexpr struct Order {
      uint16_t from[32];
      constexpr Order() : from() {
        for (int i = 0; i < 32; ++i) from[i] = static_cast<uint16_t>(31 - i);
      }
    } kInverted;
    const __m512i order = _mm512_load_si512(kInverted.from);
    first = _mm512_permutexvar_epi16(order, load512(code.first));
    second = _mm512_permutexvar_epi16(order, load512(code.second));
  }
  // Symbol, and length in the high byte, of the code at the bottom of each word.
  __m512i operator()(__m512i words) const {
    const __mmask32 is_long = _mm512_testn_epi16_mask(words, _mm512_set1_epi16(7));
    const __m512i entry = _mm512_permutexvar_epi16(words, first);
    return _mm512_mask_permutexvar_epi16(entry, is_long, _mm512_srli_epi16(words, 3), second);
  }
};

// Two codes of every lane: their symbols in the bytes of a word.
inline __m512i two_symbols(const CodeVectors& code, NextBits& next) {
  const __m512i words = next.words();
  const __m512i one = code(words);
  const __m512i two = code(_mm512_srlv_epi16(words, _mm512_srli_epi16(one, 8)));
  next.used = _mm512_add_epi16(next.used, _mm512_srli_epi16(_mm512_add_epi16(one, two), 8));
  return _mm512_mask_mov_epi8(one, 0xAAAAAAAAAAAAAAAA, _mm512_slli_epi16(two, 8));
}

// One tile's streams while a block is read.
struct SymbolReader {
  const SymbolRead& read;
  const CodeVectors code;
  NextBits next;

  explicit SymbolReader(const SymbolRead& what) : read(what), code(*what.code) {
    next.load(read.streams, *read.position);
  }
  // Four symbols of every lane.
  void row(size_t row) {
    const __m512i used = next.used;
    write_row(row);
    if (_mm512_cmpgt_epu16_mask(next.used, _mm512_set1_epi16(64)) == 0) return;
    // A lane ran out of bits, which one load does not give all blocks enough of.
    NextBits::move(*read.position, used);
    next.load(read.streams, *read.position);
    write_row(row);
  }
  void write_row(size_t row) {
    const __m512i first = two_symbols(code, next), rest = two_symbols(code, next);
    uint8_t* const to = read.symbols + row * kRowValues;
    _mm512_storeu_si512(to, _mm512_mask_mov_epi16(first, 0xAAAAAAAA, _mm512_slli_epi32(rest, 16)));
    _mm512_storeu_si512(to + 64,
                        _mm512_mask_mov_epi16(rest, 0x55555555, _mm512_srli_epi32(first, 16)));
  }
  void finish() { NextBits::move(*read.position, next.used); }
};

// Each row waits for the one before it: what a second tile needs is done meanwhile.
void read_symbols(const SymbolRead* reads, size_t count) {
  SymbolReader one(reads[0]);
  if (count == 1) {
    for (size_t row = 0; row < kBlockRows; ++row) one.row(row);
  } else {
    SymbolReader two(reads[1]);
    for (size_t row = 0; row < kBlockRows; ++row) {
      one.row(row);
      two.row(row);
    }
    two.finish();
  }
  one.finish();
}

}  // namespace
}  // namespace strait::codec::avx512
