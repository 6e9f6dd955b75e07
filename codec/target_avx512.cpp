// The kernels in 64-byte vectors, for processors with AVX-512 as of Ice Lake: a mask is 64 bits of
// a bit plane, and lists are compressed and expanded by one instruction.
#if defined(STRAIT_CODEC_HIGHWAY) && defined(__x86_64__)
#include <immintrin.h>

#define STRAIT_CODEC_TARGET avx512
#define STRAIT_CODEC_TARGET_NAME "avx512"
#define STRAIT_CODEC_OWN_BFLOAT16
#include "codec/bfloat16_avx512.hpp"
#include "codec/choose_tables.hpp"
#include "codec/counts_avx512.hpp"
#include "codec/lane_ends.hpp"
#include "codec/low_half_avx512.hpp"
#include "codec/simd.hpp"
#include "codec/symbols_avx512.hpp"
#include "codec/usual_avx512.hpp"

namespace strait::codec::avx512 {
namespace {

template <size_t width>
size_t pack_window_of(const uint8_t* bytes, uint8_t top, uint8_t* planes, uint8_t* list) {
  const __m512i escape = set((1 << width) - 1);
  size_t taken = 0;
  for (size_t v = 0; v < kVectors; ++v) {
    const __m512i values = load64(bytes + 64 * v);
    const __m512i code = _mm512_min_epu8(_mm512_sub_epi8(set(top), values), escape);
    // Two ways to a mask, as they use different parts of the processor.
    store_word(planes + 8 * v, _mm512_movepi8_mask(_mm512_slli_epi16(code, 7)));
    for (size_t p = 1; p < width; ++p)
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
  size_t left = taken < list_bytes ? list_bytes - taken : 0;
  left = left < 64 ? left : 64;
  const uint64_t readable = _bzhi_u64(~uint64_t{0}, static_cast<unsigned>(left));
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

size_t to_symbols(const ExponentTable& table, const uint8_t* bytes, uint8_t top, uint8_t* symbols,
                  uint8_t* list) {
  const __m512i near =
      _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table.near)));
  size_t taken = 0;
  for (size_t v = 0; v < kVectors; ++v) {
    const __m512i values = load64(bytes + 64 * v);
    const __m512i below = _mm512_min_epu8(_mm512_sub_epi8(set(top), values), set(kSymbols - 1));
    const __m512i symbol = _mm512_mask_mov_epi8(
        _mm512_shuffle_epi8(near, below), _mm512_testn_epi8_mask(values, values), set(table.zero));
    _mm512_storeu_si512(symbols + 64 * v, symbol);
    const uint64_t escapes = _mm512_cmpeq_epi8_mask(symbol, set(kSymbolEscape));
    _mm512_storeu_si512(list + taken, _mm512_maskz_compress_epi8(escapes, values));
    taken += ones(escapes);
  }
  return taken;
}

size_t from_symbols(const uint8_t* symbols, uint8_t top, uint8_t mask, const uint8_t* list,
                    size_t list_bytes, uint8_t* bytes) {
  size_t taken = 0;
  for (size_t v = 0; v < kVectors; ++v) {
    const __m512i symbol = load64(symbols + 64 * v);
    const uint64_t escapes = _mm512_cmpeq_epi8_mask(symbol, set(kSymbolEscape));
    const __m512i next = list_bytes_at(list, taken, list_bytes);
    __m512i values =
        _mm512_maskz_sub_epi8(_mm512_cmpneq_epi8_mask(symbol, set(kSymbolZero)), set(top), symbol);
    values = _mm512_mask_expand_epi8(values, escapes, next);
    _mm512_storeu_si512(bytes + 64 * v, _mm512_and_si512(values, set(mask)));
    taken += ones(escapes);
  }
  return taken;
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
}  // namespace strait::codec::avx512

#include "codec/halves.hpp"

namespace strait::codec::avx512 {

extern const Kernels kKernels = {
    .name = "avx512",
    .split = split,
    .join = join,
    .sum = sum,
    .range = range,
    .count = count,
    .find_windows = find_windows,
    .guess_window = guess_window,
    .count_zeros = count_zeros,
    .pack_bits = pack_bits,
    .unpack_bits = unpack_bits,
    .pack_window = pack_window,
    .unpack_window = unpack_window,
    .pack_nonzero = pack_nonzero,
    .unpack_nonzero = unpack_nonzero,
    .pack_halves = pack_halves,
    .unpack_halves = unpack_halves,
    .cheapest_table = cheapest_table,
    .survey = survey,
    .choose_tables = choose_tables,
    .to_symbols = to_symbols,
    .from_symbols = from_symbols,
    .to_pieces = to_pieces,
    .append_lanes = append_lanes,
    .read_symbols = read_symbols,
    .read_low = read_low,
    .encode_usual = encode_usual,
    .decode_usual = decode_usual,
};

}  // namespace strait::codec::avx512
#endif
