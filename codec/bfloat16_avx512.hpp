// bfloat16 values cut and joined with AVX-512: a word rotated by one bit has its exponent in its
// high byte, and in its low byte the residual rotated by one bit. Included by target_avx512.cpp, in
// whose namespace it stays (simd.hpp says why). Any thread; a dozen instructions per 64 values.
#pragma once

#include <immintrin.h>

#include "codec/kernels.hpp"

namespace strait::codec::avx512 {
namespace {

// Rows of bit matrices by which an affine map rotates every byte by one bit, down and up.
inline __m512i rotated_down(__m512i bytes) {
  return _mm512_gf2p8affine_epi64_epi8(bytes, _mm512_set1_epi64(0x0204081020408001), 0);
}
inline __m512i rotated_up(__m512i bytes) {
  return _mm512_gf2p8affine_epi64_epi8(
      bytes, _mm512_set1_epi64(static_cast<long long>(0x8001020408102040)), 0);
}

// Residuals and exponents of 64 values.
inline void cut_bfloat16(const uint8_t* values, __m512i& residual, __m512i& exponent) {
  alignas(64) static constexpr struct Order {
    uint8_t from[64];
    constexpr Order() : from() {
      for (int i = 0; i < 64; ++i)
        from[i] = static_cast<uint8_t>(i < 32 ? 2 * i : 2 * (i - 32) + 1);
    }
  } kLowThenHigh;
  const __m512i order = _mm512_load_si512(kLowThenHigh.from);
  const auto half = [&](const uint8_t* at) {
    const __m512i words = _mm512_loadu_si512(at);
    return _mm512_permutexvar_epi8(order, _mm512_shldi_epi16(words, words, 1));
  };
  const __m512i a = half(values), b = half(values + 64);
  residual = rotated_down(_mm512_inserti64x4(a, _mm512_castsi512_si256(b), 1));
  exponent = _mm512_shuffle_i64x2(a, b, 0xEE);
}

// The reverse.
inline void join_bfloat16(__m512i residual, __m512i exponent, uint8_t* values) {
  // Quarters of a vector in the order in which unpacking takes them.
  const __m512i order = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
  const __m512i low = _mm512_permutexvar_epi64(order, rotated_up(residual));
  const __m512i high = _mm512_permutexvar_epi64(order, exponent);
  const __m512i a = _mm512_unpacklo_epi8(low, high), b = _mm512_unpackhi_epi8(low, high);
  _mm512_storeu_si512(values, _mm512_shrdi_epi16(a, a, 1));
  _mm512_storeu_si512(values + 64, _mm512_shrdi_epi16(b, b, 1));
}

inline void split_bfloat16(const uint8_t* in, BlockParts& parts) {
  for (size_t i = 0; i < kBlockValues; i += 64) {
    __m512i residual, exponent;
    cut_bfloat16(in + 2 * i, residual, exponent);
    _mm512_storeu_si512(parts.split_to[0] + i, residual);
    _mm512_storeu_si512(parts.exponent + i, exponent);
  }
}

inline void join_bfloat16(const BlockParts& parts, uint8_t* out) {
  for (size_t i = 0; i < kBlockValues; i += 64)
    join_bfloat16(_mm512_loadu_si512(parts.plane[0] + i), _mm512_loadu_si512(parts.exponent + i),
                  out + 2 * i);
}

}  // namespace
}  // namespace strait::codec::avx512
