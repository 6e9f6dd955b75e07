// How often exponents occur and which window suits them, with AVX-512: codes of four bits become
// bit planes, and counts are population counts of their combinations. Included by
// target_avx512.cpp, in whose namespace it stays (simd.hpp says why). Any thread; about an
// instruction for every four values.
#pragma once

#include <immintrin.h>

#include "codec/kernels.hpp"

namespace strait::codec::avx512 {
namespace {

constexpr size_t kStride = kBlockValues / 8;
constexpr size_t kVectors = kBlockValues / 64;

inline __m512i load64(const uint8_t* at) {
  return _mm512_loadu_si512(at);
}
inline __m512i set(int byte) {
  return _mm512_set1_epi8(static_cast<char>(byte));
}

inline uint64_t load_word(const uint8_t* at) {
  uint64_t word;
  __builtin_memcpy(&word, at, 8);
  return word;
}

inline void store_word(uint8_t* at, uint64_t word) {
  __builtin_memcpy(at, &word, 8);
}

inline size_t ones(uint64_t bits) {
  return static_cast<size_t>(__builtin_popcountll(bits));
}

inline __m128i folded(__m512i bytes, __m128i (*fold)(__m128i, __m128i)) {
  const __m256i low = _mm512_castsi512_si256(bytes), high = _mm512_extracti64x4_epi64(bytes, 1);
  return fold(fold(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1)),
              fold(_mm256_castsi256_si128(high), _mm256_extracti128_si256(high, 1)));
}

// There is an instruction for the smallest of eight words; a word of two bytes becomes its smaller
// byte first.
inline uint32_t least_byte(__m512i bytes) {
  const __m128i rest = folded(bytes, [](__m128i a, __m128i b) { return _mm_min_epu8(a, b); });
  const __m128i words =
      _mm_and_si128(_mm_min_epu8(rest, _mm_srli_epi16(rest, 8)), _mm_set1_epi16(255));
  return static_cast<uint32_t>(_mm_cvtsi128_si32(_mm_minpos_epu16(words)) & 255);
}

uint32_t sum(const uint8_t* bytes, size_t) {
  __m512i total = _mm512_setzero_si512();
  for (size_t v = 0; v < kVectors; ++v)
    total =
        _mm512_add_epi64(total, _mm512_sad_epu8(load64(bytes + 64 * v), _mm512_setzero_si512()));
  const __m128i sums = folded(total, [](__m128i a, __m128i b) { return _mm_add_epi64(a, b); });
  return static_cast<uint32_t>(_mm_cvtsi128_si32(sums) + _mm_extract_epi32(sums, 2));
}

ExponentRange range(const uint8_t* bytes, size_t) {
  __m512i high = set(0), low = set(-1);
  size_t zeros = 0;
  for (size_t v = 0; v < kVectors; ++v) {
    const __m512i values = load64(bytes + 64 * v);
    high = _mm512_max_epu8(high, values);
    low = _mm512_min_epu8(low, values);
    zeros += ones(_mm512_testn_epi8_mask(values, values));
  }
  return {least_byte(low), 255 - least_byte(_mm512_xor_si512(high, set(-1))),
          static_cast<uint32_t>(zeros), sum(bytes, kBlockValues)};
}

size_t count_zeros(const uint8_t* bytes, size_t n, uint8_t mask) {
  size_t zeros = 0;
  for (size_t i = 0; i < n; i += 64)
    zeros += ones(_mm512_testn_epi8_mask(load64(bytes + i), set(mask)));
  return zeros;
}

// The sums of the four combinations of two planes, within `high`: 16 bits each, in eight words.
inline __m512i counts_of_four(const __m512i* low, __m512i high) {
  __m512i sums = _mm512_popcnt_epi64(_mm512_and_si512(high, low[3]));
  for (int k = 2; k >= 0; --k)
    sums = _mm512_add_epi64(_mm512_slli_epi64(sums, 16),
                            _mm512_popcnt_epi64(_mm512_and_si512(high, low[k])));
  return sums;
}

// Two codes of four bits in each byte become four planes of 128 bits: bits of eight bytes are
// transposed (as the matrix of an affine map of unit vectors), then bytes of one plane brought into
// one quarter.
inline __m512i four_planes(__m512i pairs) {
  alignas(64) static constexpr struct Order {
    uint8_t from[64];
    constexpr Order() : from() {
      for (int i = 0; i < 64; ++i)
        from[i] = static_cast<uint8_t>(8 * (i % 8) + i / 16 + (i % 16 >= 8 ? 4 : 0));
    }
  } kOrder;
  const __m512i units = _mm512_set1_epi64(static_cast<long long>(0x8040201008040201));
  return _mm512_permutexvar_epi8(_mm512_load_si512(kOrder.from),
                                 _mm512_gf2p8affine_epi64_epi8(units, pairs, 0));
}

// Quarter k of vector j becomes quarter j of vector k.
inline void transpose_quarters(const __m512i* in, __m512i* out) {
  const __m512i a = _mm512_shuffle_i32x4(in[0], in[1], 0x44);
  const __m512i b = _mm512_shuffle_i32x4(in[0], in[1], 0xEE);
  const __m512i c = _mm512_shuffle_i32x4(in[2], in[3], 0x44);
  const __m512i d = _mm512_shuffle_i32x4(in[2], in[3], 0xEE);
  out[0] = _mm512_shuffle_i32x4(a, c, 0x88);
  out[1] = _mm512_shuffle_i32x4(a, c, 0xDD);
  out[2] = _mm512_shuffle_i32x4(b, d, 0x88);
  out[3] = _mm512_shuffle_i32x4(b, d, 0xDD);
}

inline __m512i bits_reversed(__m512i bytes) {
  return _mm512_gf2p8affine_epi64_epi8(
      bytes, _mm512_set1_epi64(static_cast<long long>(0x8040201008040201)), 0);
}

// Codes of four bits become four planes of 512 bits, the values of each byte in reverse order.
inline void transpose_codes(const __m512i* codes, __m512i* planes) {
  __m512i rows[4];
  for (int k = 0; k < 4; ++k) {
    const __m512i pair = _mm512_or_si512(codes[2 * k], _mm512_slli_epi16(codes[2 * k + 1], 4));
    rows[k] = four_planes(pair);
  }
  transpose_quarters(rows, planes);
}

// Of the exponents top, top - 1, ...: sixteen words, the last of them for all others.
inline __m256i counts_from(int top, const uint8_t* bytes) {
  __m512i codes[kVectors], p[4];
  for (size_t v = 0; v < kVectors; ++v)
    codes[v] = _mm512_min_epu8(_mm512_sub_epi8(set(top), load64(bytes + 64 * v)), set(15));
  transpose_codes(codes, p);
  const __m512i low[4] = {_mm512_ternarylogic_epi64(p[0], p[1], p[1], 0x03),
                          _mm512_andnot_si512(p[1], p[0]), _mm512_andnot_si512(p[0], p[1]),
                          _mm512_and_si512(p[0], p[1])};
  const __m512i a = counts_of_four(low, _mm512_ternarylogic_epi64(p[2], p[3], p[3], 0x03));
  const __m512i b = counts_of_four(low, _mm512_andnot_si512(p[3], p[2]));
  const __m512i c = counts_of_four(low, _mm512_andnot_si512(p[2], p[3]));
  const __m512i d = counts_of_four(low, _mm512_and_si512(p[2], p[3]));
  const __m512i ab = _mm512_add_epi64(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
  const __m512i cd = _mm512_add_epi64(_mm512_unpacklo_epi64(c, d), _mm512_unpackhi_epi64(c, d));
  const auto add = [](__m128i x, __m128i y) { return _mm_add_epi64(x, y); };
  return _mm256_set_m128i(folded(cd, add), folded(ab, add));
}

void count(const uint8_t* bytes, size_t, ExponentBins& bins) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(bins.count), counts_from(bins.top, bytes));
}

void survey(const uint8_t* bytes, size_t block, TileCounts& counts) {
  __m512i sums = _mm512_setzero_si512(), least = set(-1);
  for (size_t v = 0; v < kVectors; ++v) {
    sums = _mm512_dpbusd_epi32(sums, load64(bytes + 64 * v), set(1));
    least = _mm512_min_epu8(least, load64(bytes + 64 * v));
  }
  const bool zeros = _mm512_testn_epi8_mask(least, least) != 0;
  const auto total = static_cast<unsigned>(_mm512_reduce_add_epi32(sums));
  const int top = static_cast<int>(total / kBlockValues) + kAboveMean;
  counts.top[block] = top;
  counts.zeros[block] = static_cast<uint16_t>(zeros ? count_zeros(bytes, kBlockValues, 0xFF) : 0);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(counts.bins[block]), counts_from(top, bytes));
}

// The least word of sixteen, its place in the upper half.
inline uint32_t least_word(__m256i words) {
  const __m128i low = _mm_minpos_epu16(_mm256_castsi256_si128(words));
  const __m128i high = _mm_minpos_epu16(_mm256_extracti128_si256(words, 1));
  const auto a = static_cast<uint32_t>(_mm_cvtsi128_si32(low));
  const auto b = static_cast<uint32_t>(_mm_cvtsi128_si32(high)) + (8u << 16);
  return (b & 0xFFFF) < (a & 0xFFFF) ? b : a;
}

// Sums of the bins before each place; a place beyond the last bin has all.
struct RunningCounts {
  __m256i before;

  explicit RunningCounts(__m256i bins) {
    // Sums within halves, then the lower half's total.
    bins = _mm256_add_epi16(bins, _mm256_slli_si256(bins, 2));
    bins = _mm256_add_epi16(bins, _mm256_slli_si256(bins, 4));
    bins = _mm256_add_epi16(bins, _mm256_slli_si256(bins, 8));
    const __m256i half = _mm256_permutexvar_epi16(_mm256_set1_epi16(7), bins);
    bins = _mm256_mask_add_epi16(bins, 0xFF00, bins, half);
    const __m256i previous = _mm256_sub_epi16(places(), _mm256_set1_epi16(1));
    before = _mm256_maskz_permutexvar_epi16(0xFFFE, previous, bins);
  }
  static __m256i places() {
    return _mm256_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  }
  uint32_t all() const { return static_cast<uint32_t>(_mm256_extract_epi16(before, 15)) & 0xFFFF; }

  // The least that a window of this width leaves out of n, and (in the high word) the first place
  // of it.
  template <int width>
  uint32_t least_outside(size_t n) const {
    constexpr int kSpan = (1 << width) - 1;
    const __m256i end = _mm256_add_epi16(places(), _mm256_set1_epi16(kSpan));
    const __m256i rest = _mm256_add_epi16(before, _mm256_set1_epi16(static_cast<short>(n)));
    const __m256i outside = _mm256_sub_epi16(rest, _mm256_permutexvar_epi16(end, before));
    constexpr auto kBeyond = static_cast<__mmask16>(~((2u << (kBins - kSpan)) - 1));
    return least_word(_mm256_mask_mov_epi16(outside, kBeyond, _mm256_set1_epi16(-1)));
  }
};

void find_windows(const ExponentBins& bins, size_t n, WindowPlaces& places) {
  static_assert(kBins == 15 && kSearchedWidths == 4, "the widest window has one place");
  const RunningCounts counts(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(bins.count)));
  places.counted = counts.all();
  const uint32_t least[4] = {counts.least_outside<1>(n), counts.least_outside<2>(n),
                             counts.least_outside<3>(n), static_cast<uint32_t>(n) - counts.all()};
  for (int w = 0; w < kSearchedWidths; ++w) {
    places.outside[w] = static_cast<uint16_t>(least[w]);
    places.first[w] = static_cast<uint8_t>(least[w] >> 16);
  }
}

// As count, for 128 values: a quarter of a vector has what a combination of the two high planes
// has.
inline __m256i count_sample(__m512i start, __m512i middle, int& sample_top) {
  const __m512i zero = _mm512_setzero_si512();
  const __m512i sums =
      _mm512_add_epi64(_mm512_sad_epu8(start, zero), _mm512_sad_epu8(middle, zero));
  const __m128i sum = folded(sums, [](__m128i x, __m128i y) { return _mm_add_epi64(x, y); });
  const auto total = static_cast<uint32_t>(_mm_cvtsi128_si32(sum) + _mm_extract_epi32(sum, 2));
  sample_top = static_cast<int>(total / (2 * kSampleValues)) + kAboveMean;

  const auto code = [&](__m512i values) {
    return _mm512_min_epu8(_mm512_sub_epi8(set(sample_top), values), set(15));
  };
  const __m512i planes =
      four_planes(_mm512_or_si512(code(start), _mm512_slli_epi16(code(middle), 4)));
  const __m512i p0 = _mm512_shuffle_i32x4(planes, planes, 0x00);
  const __m512i p1 = _mm512_shuffle_i32x4(planes, planes, 0x55);
  // Quarters: neither of the high planes, the third, the fourth, both.
  const __m512i third = _mm512_xor_si512(_mm512_shuffle_i32x4(planes, planes, 0xAA),
                                         _mm512_maskz_set1_epi64(0x33, -1));
  const __m512i fourth = _mm512_xor_si512(_mm512_shuffle_i32x4(planes, planes, 0xFF),
                                          _mm512_maskz_set1_epi64(0x0F, -1));
  const __m512i low[4] = {_mm512_ternarylogic_epi64(p0, p1, p1, 0x03), _mm512_andnot_si512(p1, p0),
                          _mm512_andnot_si512(p0, p1), _mm512_and_si512(p0, p1)};
  __m512i counts = counts_of_four(low, _mm512_and_si512(third, fourth));
  counts = _mm512_add_epi64(counts, _mm512_shuffle_epi32(counts, _MM_PERM_BADC));
  const __m512i even = _mm512_setr_epi64(0, 2, 4, 6, 0, 2, 4, 6);
  return _mm512_castsi512_si256(_mm512_permutexvar_epi64(even, counts));
}

inline WindowGuess guess_of_sample(__m512i start, __m512i middle, int exponent_bits) {
  constexpr uint32_t kSample = 2 * kSampleValues, kPlane = kSample / 8;
  int top = 0;
  const RunningCounts counts(count_sample(start, middle, top));
  const uint32_t two = counts.least_outside<2>(kSample), three = counts.least_outside<3>(kSample);
  if ((two & 0xFFFF) == 0) return {};
  // A width's bytes, above the width and the place, so that the least is the cheapest and
  // narrowest.
  const auto bid = [](uint32_t width, uint32_t least) {
    return (width * kPlane + (least & 0xFFFF)) << 16 | width << 8 | least >> 16;
  };
  const auto plain = static_cast<uint32_t>(exponent_bits);
  uint32_t best = plain * kPlane << 16 | 0xFF00;
  const uint32_t bids[3] = {bid(2, two), plain > 3 ? bid(3, three) : best,
                            plain > 4 ? bid(4, kSample - counts.all()) : best};
  for (uint32_t candidate : bids) best = candidate < best ? candidate : best;
  if ((best & 0xFF00) == 0xFF00) return {};
  return {static_cast<uint8_t>(best >> 8),
          static_cast<uint8_t>(top - static_cast<int>(best & 255))};
}

void guess_window(const uint8_t* bytes, int exponent_bits, WindowGuess& guess) {
  guess = guess_of_sample(load64(bytes), load64(bytes + kBlockValues / 2), exponent_bits);
}

}  // namespace
}  // namespace strait::codec::avx512
