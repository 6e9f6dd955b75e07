// The low halves of floats (low_half.hpp) read with AVX-512, 16 lanes side by side: codes are
// looked up by gathering. Included by target_avx512.cpp, in whose namespace it stays (simd.hpp says
// why). Any thread; about three instructions per value.
#pragma once

#include <immintrin.h>

#include "codec/kernels.hpp"

namespace strait::codec::avx512 {
namespace {

// 16 lanes on their way through a block.
struct LowLanes {
  const uint16_t* decoded;
  const uint8_t* streams;
  __m512i at;         // bits
  __m512i low, high;  // what was loaded last, from whole bytes on
  __m512i used;       // of that, bits

  // At least 57 bits of each lane, enough for two values.
  void load() {
    const __m512i even =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
    const __m512i byte = _mm512_srli_epi32(at, 3);
    const __m512i a = _mm512_i32gather_epi64(_mm512_castsi512_si256(byte), streams, 1);
    const __m512i b = _mm512_i32gather_epi64(_mm512_extracti64x4_epi64(byte, 1), streams, 1);
    low = _mm512_permutex2var_epi32(a, even, b);
    high = _mm512_permutex2var_epi32(a, odd, b);
    used = _mm512_and_si512(at, _mm512_set1_epi32(7));
  }
  // The next value of each lane; bits beyond 16 may be set.
  __m512i value() {
    const __m512i byte_mask = _mm512_set1_epi32(255), one = _mm512_set1_epi32(1);
    const __m512i bits = _mm512_shrdv_epi32(low, high, used);
    const __m512i entry =
        _mm512_i32gather_epi32(_mm512_and_si512(bits, byte_mask), decoded, sizeof *decoded);
    const __m512i zeros = _mm512_and_si512(entry, byte_mask);
    const __m512i length = _mm512_and_si512(_mm512_srli_epi32(entry, 8), byte_mask);
    const __m512i extra = _mm512_subs_epu16(_mm512_set1_epi32(15), zeros);
    const __m512i none = _mm512_sllv_epi32(_mm512_set1_epi32(-1), extra);
    const __m512i above = _mm512_andnot_si512(none, _mm512_srlv_epi32(bits, length));
    const __m512i step = _mm512_add_epi32(length, extra);
    used = _mm512_add_epi32(used, step);
    at = _mm512_add_epi32(at, step);
    return _mm512_sllv_epi32(_mm512_or_si512(_mm512_slli_epi32(above, 1), one), zeros);
  }
};

// Byte `shift / 8` of four values of each lane, side by side.
inline __m512i four_bytes(const __m512i* values, unsigned shift) {
  const __m512i mask = _mm512_set1_epi32(255);
  __m512i bytes = _mm512_and_si512(_mm512_srli_epi32(values[3], shift), mask);
  for (int k = 2; k >= 0; --k)
    bytes = _mm512_or_si512(_mm512_slli_epi32(bytes, 8),
                            _mm512_and_si512(_mm512_srli_epi32(values[k], shift), mask));
  return bytes;
}

void read_low(const PrefixCode& code, const uint8_t* streams, LanePositions& position,
              uint8_t* plane0, uint8_t* plane1) {
  for (size_t lanes = 0; lanes < kLanes; lanes += 16) {
    LowLanes from;
    from.decoded = code.decoded;
    from.streams = streams;
    from.at = _mm512_loadu_si512(position.bit + lanes);
    for (size_t row = 0; row < kBlockRows; ++row) {
      __m512i values[4];
      for (int k = 0; k < 4; ++k) {
        if (k % 2 == 0) from.load();
        values[k] = from.value();
      }
      const size_t to = row * kRowValues + 4 * lanes;
      _mm512_storeu_si512(plane0 + to, four_bytes(values, 0));
      _mm512_storeu_si512(plane1 + to, four_bytes(values, 8));
    }
    _mm512_storeu_si512(position.bit + lanes, from.at);
  }
}

}  // namespace
}  // namespace strait::codec::avx512
