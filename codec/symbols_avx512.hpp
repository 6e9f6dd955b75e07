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

// What comes next in 32 lanes: at least 57 bits of each in the words of four vectors.
struct NextBits {
  __m512i word[4];

  void load(const uint8_t* streams, const __m256i position[4]) {
    for (int k = 0; k < 4; ++k) {
      const __m256i offset = _mm256_and_si256(position[k], _mm256_set1_epi32(7));
      word[k] =
          _mm512_srlv_epi64(_mm512_i32gather_epi64(_mm256_srli_epi32(position[k], 3), streams, 1),
                            _mm512_cvtepu32_epi64(offset));
    }
  }
  void drop(int k, __m256i bits) {
    word[k] = _mm512_srlv_epi64(word[k], _mm512_cvtepu32_epi64(bits));
  }
  // The lowest 32 bits of 16 lanes.
  __m512i low(int k) const {
    return _mm512_permutex2var_epi32(
        word[k], _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30),
        word[k + 1]);
  }
};

struct CodeVectors {
  __m512i first;
  __m512i second;

  // Symbol, and length in the high byte, of the code at the bottom of each word.
  __m512i operator()(__m512i words) const {
    const __m512i seven = _mm512_set1_epi16(7);
    const __mmask32 is_long = _mm512_cmpeq_epi16_mask(_mm512_and_si512(words, seven), seven);
    const __m512i entry = _mm512_permutexvar_epi16(words, first);
    return _mm512_mask_permutexvar_epi16(entry, is_long, _mm512_srli_epi16(words, 3), second);
  }
};

// Words of lanes k and 16 + k side by side, out of double words of each; and the reverse.
inline __m512i zipped(__m512i low_lanes, __m512i high_lanes) {
  return _mm512_mask_mov_epi16(low_lanes, 0xAAAAAAAA, _mm512_slli_epi32(high_lanes, 16));
}

// Two codes of every lane: their symbols in the bytes of a word, and their lengths' sum.
inline __m512i two_symbols(const CodeVectors& code, __m512i words, __m512i& length) {
  const __m512i one = code(words);
  const __m512i one_length = _mm512_srli_epi16(one, 8);
  const __m512i two = code(_mm512_srlv_epi16(words, one_length));
  length = _mm512_add_epi16(one_length, _mm512_srli_epi16(two, 8));
  return _mm512_mask_mov_epi8(one, 0xAAAAAAAAAAAAAAAA, _mm512_slli_epi16(two, 8));
}

// A row of four symbols in every lane; returns the bits that they took, lanes 0 to 15 in the low
// words.
inline __m512i read_row(const CodeVectors& code, const NextBits& next, uint8_t* symbols) {
  const __m512i low_word = _mm512_set1_epi32(0xFFFF);
  __m512i low = next.low(0), high = next.low(2);
  __m512i length, rest_length;
  const __m512i first = two_symbols(code, zipped(low, high), length);
  low = _mm512_srlv_epi32(low, _mm512_and_si512(length, low_word));
  high = _mm512_srlv_epi32(high, _mm512_srli_epi32(length, 16));
  const __m512i rest = two_symbols(code, zipped(low, high), rest_length);
  _mm512_storeu_si512(symbols, zipped(first, rest));
  _mm512_storeu_si512(symbols + 64,
                      _mm512_mask_mov_epi16(rest, 0x55555555, _mm512_srli_epi32(first, 16)));
  return _mm512_add_epi16(length, rest_length);
}

void read_symbols(const PrefixCode& code, const uint8_t* streams, LanePositions& position,
                  uint8_t* symbols) {
  const CodeVectors vectors = {load512(code.first), load512(code.second)};
  const __m512i low_word = _mm512_set1_epi32(0xFFFF);
  __m256i at[4];
  for (int k = 0; k < 4; ++k)
    at[k] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(position.bit + 8 * k));
  NextBits next;
  next.load(streams, at);
  for (size_t row = 0; row < kBlockRows; ++row) {
    const __m512i length = read_row(vectors, next, symbols + row * kRowValues);
    const __m512i low = _mm512_and_si512(length, low_word), high = _mm512_srli_epi32(length, 16);
    const __m256i part[4] = {_mm512_castsi512_si256(low), _mm512_extracti64x4_epi64(low, 1),
                             _mm512_castsi512_si256(high), _mm512_extracti64x4_epi64(high, 1)};
    for (int k = 0; k < 4; ++k) at[k] = _mm256_add_epi32(at[k], part[k]);
    // 57 bits last for two rows unless a lane's first took more than 25.
    const bool lasts = row % 2 == 0 && _mm512_cmpgt_epu16_mask(length, _mm512_set1_epi16(25)) == 0;
    if (lasts)
      for (int k = 0; k < 4; ++k) next.drop(k, part[k]);
    else if (row + 1 < kBlockRows)
      next.load(streams, at);
  }
  for (int k = 0; k < 4; ++k)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(position.bit + 8 * k), at[k]);
}

}  // namespace
}  // namespace strait::codec::avx512
