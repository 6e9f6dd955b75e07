// The kernels in 64-byte vectors, for processors with AVX-512 as of Ice Lake: a mask is 64 bits of
// a bit plane, and lists are compressed and expanded by one instruction.
#if defined(STRAIT_CODEC_HIGHWAY) && defined(__x86_64__)
#include <immintrin.h>

#define STRAIT_CODEC_TARGET avx512
#define STRAIT_CODEC_TARGET_NAME "avx512"
#include "codec/simd.hpp"

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

// The largest byte, by halves.
inline uint32_t largest_of(__m512i bytes) {
  __m256i half =
      _mm256_max_epu8(_mm512_castsi512_si256(bytes), _mm512_extracti64x4_epi64(bytes, 1));
  __m128i rest = _mm_max_epu8(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
  // The smallest 16-bit word has an instruction; pairs of bytes become words of their smaller
  // complement.
  rest = _mm_xor_si128(rest, _mm_set1_epi8(-1));
  rest = _mm_min_epu8(rest, _mm_srli_epi16(rest, 8));
  rest = _mm_and_si128(rest, _mm_set1_epi16(255));
  return 255u - static_cast<uint32_t>(_mm_cvtsi128_si32(_mm_minpos_epu16(rest)) & 255);
}

// Counts of four bins at once: bit i of planes[k] belongs to value i, a bin is one combination of
// the four planes. The vector of a plane is all its 512 bits.
inline void count_bins(const __m512i* planes, __m512i inside, uint32_t* bins) {
  const __m512i low[4] = {_mm512_andnot_si512(_mm512_or_si512(planes[0], planes[1]), inside),
                          _mm512_and_si512(_mm512_andnot_si512(planes[1], planes[0]), inside),
                          _mm512_and_si512(_mm512_andnot_si512(planes[0], planes[1]), inside),
                          _mm512_and_si512(_mm512_and_si512(planes[0], planes[1]), inside)};
  for (int high = 0; high < 4; ++high) {
    const __m512i third = (high & 1) ? planes[2] : ~planes[2];
    const __m512i fourth = (high & 2) ? planes[3] : ~planes[3];
    const __m512i both = _mm512_and_si512(third, fourth);
    __m512i sums = _mm512_popcnt_epi64(_mm512_and_si512(both, low[3]));
    for (int k = 2; k >= 0; --k)
      sums = _mm512_add_epi64(_mm512_slli_epi64(sums, 16),
                              _mm512_popcnt_epi64(_mm512_and_si512(both, low[k])));
    __m256i half =
        _mm256_add_epi64(_mm512_castsi512_si256(sums), _mm512_extracti64x4_epi64(sums, 1));
    __m128i rest = _mm_add_epi64(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    rest = _mm_add_epi64(rest, _mm_unpackhi_epi64(rest, rest));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(bins + 4 * high), _mm_cvtepu16_epi32(rest));
  }
}

void count_exponents(const uint8_t* bytes, size_t, ExponentCounts& counts) {
  __m512i high = set(0), low = set(-1), sum = _mm512_setzero_si512();
  uint32_t zeros = 0;
  for (size_t v = 0; v < kVectors; ++v) {
    const __m512i values = load64(bytes + 64 * v);
    high = _mm512_max_epu8(high, values);
    low = _mm512_min_epu8(low, values);
    sum = _mm512_add_epi64(sum, _mm512_sad_epu8(values, _mm512_setzero_si512()));
    zeros += static_cast<uint32_t>(ones(_mm512_testn_epi8_mask(values, values)));
  }
  counts.max = largest_of(high);
  counts.min = 255 - largest_of(~low);
  counts.zeros = zeros;
  const uint32_t rest = static_cast<uint32_t>(kBlockValues) - zeros;
  const auto total = static_cast<uint32_t>(_mm512_reduce_add_epi64(sum));
  const int top = (rest == 0 ? 0 : static_cast<int>(total / rest)) + kHistogramAboveMean;
  counts.top = top < static_cast<int>(counts.max) ? top : static_cast<int>(counts.max);

  alignas(64) uint64_t planes[5][kVectors];
  const int last = counts.top < kHistogramBins ? counts.top : kHistogramBins - 1;
  for (size_t v = 0; v < kVectors; ++v) {
    const __m512i code = _mm512_sub_epi8(set(counts.top), load64(bytes + 64 * v));
    for (size_t p = 0; p < 4; ++p) planes[p][v] = _mm512_test_epi8_mask(code, set(1 << p));
    planes[4][v] = _mm512_cmple_epu8_mask(code, set(last));
  }
  const __m512i vectors[4] = {_mm512_load_si512(planes[0]), _mm512_load_si512(planes[1]),
                              _mm512_load_si512(planes[2]), _mm512_load_si512(planes[3])};
  count_bins(vectors, _mm512_load_si512(planes[4]), counts.bins);
}

template <size_t width>
size_t pack_window_of(const uint8_t* bytes, uint8_t top, uint8_t* planes, uint8_t* list) {
  const __m512i escape = set((1 << width) - 1);
  size_t taken = 0;
  for (size_t v = 0; v < kVectors; ++v) {
    const __m512i values = load64(bytes + 64 * v);
    const __m512i code = _mm512_min_epu8(_mm512_sub_epi8(set(top), values), escape);
    for (size_t p = 0; p < width; ++p)
      store_word(planes + p * kStride + 8 * v, _mm512_test_epi8_mask(code, set(1 << p)));
    const uint64_t escapes = _mm512_cmpeq_epi8_mask(code, escape);
    _mm512_storeu_si512(list + taken, _mm512_maskz_compress_epi8(escapes, values));
    taken += ones(escapes);
  }
  return taken;
}

size_t pack_window(const uint8_t* bytes, size_t, size_t width, uint8_t top, uint8_t* planes,
                   uint8_t* list) {
  switch (width) {
    case 1:
      return pack_window_of<1>(bytes, top, planes, list);
    case 2:
      return pack_window_of<2>(bytes, top, planes, list);
    case 3:
      return pack_window_of<3>(bytes, top, planes, list);
    case 4:
      return pack_window_of<4>(bytes, top, planes, list);
    case 5:
      return pack_window_of<5>(bytes, top, planes, list);
    case 6:
      return pack_window_of<6>(bytes, top, planes, list);
    default:
      return pack_window_of<7>(bytes, top, planes, list);
  }
}

// The next 64 bytes of a list, as many as there are.
inline __m512i list_bytes_at(const uint8_t* list, size_t taken, size_t list_bytes) {
  const size_t left = taken < list_bytes ? list_bytes - taken : 0;
  const uint64_t readable = left < 64 ? (uint64_t{1} << left) - 1 : ~uint64_t{0};
  return _mm512_maskz_loadu_epi8(readable, list + taken);
}

template <size_t width>
size_t unpack_window_of(const uint8_t* planes, uint8_t top, uint8_t mask, const uint8_t* list,
                        size_t list_bytes, uint8_t* bytes) {
  size_t taken = 0;
  for (size_t v = 0; v < kVectors; ++v) {
    uint64_t escapes = ~uint64_t{0};
    __m512i values = set(top);
    for (size_t p = 0; p < width; ++p) {
      const uint64_t plane = load_word(planes + p * kStride + 8 * v);
      escapes &= plane;
      values = _mm512_mask_sub_epi8(values, plane, values, set(1 << p));
    }
    const __m512i next = list_bytes_at(list, taken, list_bytes);
    values = _mm512_mask_expand_epi8(values, escapes, next);
    _mm512_storeu_si512(bytes + 64 * v, _mm512_and_si512(values, set(mask)));
    taken += ones(escapes);
  }
  return taken;
}

size_t unpack_window(const uint8_t* planes, size_t, size_t width, uint8_t top, uint8_t mask,
                     const uint8_t* list, size_t list_bytes, uint8_t* bytes) {
  switch (width) {
    case 1:
      return unpack_window_of<1>(planes, top, mask, list, list_bytes, bytes);
    case 2:
      return unpack_window_of<2>(planes, top, mask, list, list_bytes, bytes);
    case 3:
      return unpack_window_of<3>(planes, top, mask, list, list_bytes, bytes);
    case 4:
      return unpack_window_of<4>(planes, top, mask, list, list_bytes, bytes);
    case 5:
      return unpack_window_of<5>(planes, top, mask, list, list_bytes, bytes);
    case 6:
      return unpack_window_of<6>(planes, top, mask, list, list_bytes, bytes);
    default:
      return unpack_window_of<7>(planes, top, mask, list, list_bytes, bytes);
  }
}

size_t pack_nonzero(const uint8_t* bytes, size_t, uint8_t* bits, uint8_t* list) {
  size_t taken = 0;
  for (size_t v = 0; v < kVectors; ++v) {
    const __m512i values = load64(bytes + 64 * v);
    const uint64_t nonzero = _mm512_test_epi8_mask(values, values);
    store_word(bits + 8 * v, nonzero);
    _mm512_storeu_si512(list + taken, _mm512_maskz_compress_epi8(nonzero, values));
    taken += ones(nonzero);
  }
  return taken;
}

size_t unpack_nonzero(const uint8_t* bits, size_t, const uint8_t* list, size_t list_bytes,
                      uint8_t* bytes) {
  size_t taken = 0;
  for (size_t v = 0; v < kVectors; ++v) {
    const uint64_t nonzero = load_word(bits + 8 * v);
    const __m512i next = list_bytes_at(list, taken, list_bytes);
    _mm512_storeu_si512(bytes + 64 * v, _mm512_maskz_expand_epi8(nonzero, next));
    taken += ones(nonzero);
  }
  return taken;
}

}  // namespace

extern const Kernels kKernels = {"avx512",      split,        join,          count_exponents,
                                 count_zeros,   pack_bits,    unpack_bits,   pack_window,
                                 unpack_window, pack_nonzero, unpack_nonzero};

}  // namespace strait::codec::avx512
#endif
