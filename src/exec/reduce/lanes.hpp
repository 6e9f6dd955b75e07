// Vectors of one instruction set and the conversions between fp32 and the narrow float formats.
// Private to the target_*.cpp files, each of which compiles this text with its own flags and its
// own STRAIT_TARGET namespace. Everything here is inlined and has internal linkage: a function
// shared between objects of different flags would let the linker pick one that the processor cannot
// run. For the same reason no header with inline functions is included.
//
// Rounding is to nearest, ties to even. A NaN is always written as the NaN with all bits but the
// sign set, so that the bits do not depend on the order in which a compiler or a device puts its
// operands. fp8 saturates to the largest finite value (as CUDA's __NV_SATFINITE does; infinities
// too), bf16 and fp16 overflow to infinity.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define STRAIT_INLINE [[gnu::always_inline]] inline

namespace strait::reduce::STRAIT_TARGET {
namespace {

template <class T, size_t count>
struct VectorOf {
  typedef T Type __attribute__((vector_size(sizeof(T) * count)));
};
template <class T, size_t count>
using Vector = typename VectorOf<T, count>::Type;

constexpr size_t kVectorBytes = STRAIT_TARGET_VECTOR_BYTES;
constexpr size_t kFloatLanes = kVectorBytes / sizeof(float);

using Floats = Vector<float, kFloatLanes>;
using Words = Vector<uint32_t, kFloatLanes>;
using SignedWords = Vector<int32_t, kFloatLanes>;
using Shorts = Vector<uint16_t, kFloatLanes>;
using Bytes = Vector<uint8_t, kFloatLanes>;
using AllShorts = Vector<uint16_t, 2 * kFloatLanes>;

template <class V>
STRAIT_INLINE V load_vector(const void* from) {
  V value;
  __builtin_memcpy(&value, from, sizeof(V));
  return value;
}
template <class V>
STRAIT_INLINE void store_vector(void* to, V value) {
  __builtin_memcpy(to, &value, sizeof(V));
}

// A sign, an exponent and a mantissa in the low bits of a word.
template <int kSignBit, int kMantissaBits, int kBias, uint32_t kLimitBits, bool kInfinity>
struct FloatLayout {
  static constexpr int mantissa = kMantissaBits;
  static constexpr int shift = 23 - kMantissaBits;  // from the mantissa to that of fp32
  static constexpr int sign_shift = 31 - kSignBit;
  static constexpr uint32_t sign = 1u << kSignBit;
  static constexpr uint32_t nan = sign - 1;
  static constexpr bool infinity = kInfinity;
  // As bits of fp32: the exponent of zero, the smallest normal number, and where a magnitude is cut
  // off (the largest finite value, or the power of two that rounds to infinity).
  static constexpr int32_t rebias = (127 - kBias) << 23;
  static constexpr int32_t smallest_normal = rebias + (1 << 23);
  static constexpr int32_t limit = int32_t{kLimitBits << shift} + rebias;
};
using Half = FloatLayout<15, 10, 15, 0x7c00, true>;
using E5m2 = FloatLayout<7, 2, 15, 0x7b, true>;
using E4m3 = FloatLayout<7, 3, 7, 0x7e, false>;

template <class L>
STRAIT_INLINE Floats decode(Words bits) {
  const SignedWords magnitude = (SignedWords)((bits & L::nan) << L::shift);
  const SignedWords normal = magnitude + L::rebias;
  // A zero exponent: put the mantissa under an implicit one, then take that away, which normalises
  // exactly.
  const Floats tiny = (Floats)(normal + (1 << 23)) - (Floats)(SignedWords{} + L::smallest_normal);
  SignedWords value = magnitude < (1 << 23) ? (SignedWords)tiny : normal;
  if constexpr (L::infinity) {
    constexpr int32_t kTopExponent = int32_t{L::nan >> L::mantissa} << 23;
    value = magnitude >= kTopExponent ? magnitude | 0x7f800000 : value;
  } else {
    constexpr int32_t kNan = int32_t{L::nan << L::shift};
    value = magnitude == kNan ? SignedWords{} + 0x7fffffff : value;
  }
  return (Floats)((Words)value | (bits & L::sign) << L::sign_shift);
}

// Adding a power of two so large that the last mantissa bit of the sum is that of the narrow format
// leaves the rounding to the processor: normal and subnormal numbers differ only in that power.
template <class L>
STRAIT_INLINE Words encode(Floats value) {
  const Words bits = (Words)value;
  const SignedWords exact = (SignedWords)(bits & 0x7fffffffu);
  const SignedWords magnitude = exact < L::limit ? exact : SignedWords{} + L::limit;
  const SignedWords own_exponent = magnitude & 0x7f800000;
  const SignedWords exponent =
      own_exponent > L::smallest_normal ? own_exponent : SignedWords{} + L::smallest_normal;
  const SignedWords power = exponent + (L::shift << 23);
  const SignedWords mantissa = (SignedWords)((Floats)magnitude + (Floats)power) - power;
  const SignedWords code = mantissa + ((exponent - L::smallest_normal) >> L::shift);
  const Words signed_code = (Words)code | (bits >> L::sign_shift & L::sign);
  return exact > 0x7f800000 ? Words{} + L::nan : signed_code;
}

// A float with the bits of `nan` where `value` is a NaN.
STRAIT_INLINE Floats with_nan(Floats value, uint32_t nan) {
#if defined(STRAIT_TARGET_AVX512)
  // One instruction: keeps the first operand for quiet and signalling NaNs, takes the second for
  // the six other classes.
  const __m512i table = _mm512_set1_epi32(0x11111100);
  return (Floats)_mm512_fixupimm_ps((__m512)(Words{} + nan), (__m512)value, table, 0);
#else
  return value != value ? (Floats)(Words{} + nan) : value;
#endif
}

// A NaN that survives rounding to bfloat16.
constexpr uint32_t kNanToRound = 0x7fff0000;

STRAIT_INLINE Words round_to_bfloat(Floats value) {
  const Words bits = (Words)with_nan(value, kNanToRound);
  return (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
}

#if defined(STRAIT_TARGET_AVX512)
// Bfloat16s of two vectors, taken in turns, rounded all at once: up where the half that is cut off
// is more than a half of the last bit kept, or is one and that bit is odd.
STRAIT_INLINE Words round_to_bfloats(Floats even, Floats odd) {
  const auto low = (__m512i)with_nan(even, kNanToRound);
  const auto high = (__m512i)with_nan(odd, kNanToRound);
  constexpr __mmask64 kLowHalves = 0x3333333333333333;
  const __m512i swap_halves = _mm512_set4_epi32(0x0d0c0f0e, 0x09080b0a, 0x05040706, 0x01000302);
  const __m512i kept = _mm512_mask_shuffle_epi8(high, kLowHalves, low, swap_halves);
  const __m512i cut = _mm512_mask_shuffle_epi8(low, ~kLowHalves, high, swap_halves);
  const auto least_up = (__m512i)((~(AllShorts)kept & uint16_t{1}) | uint16_t{0x8000});
  const __mmask32 up = _mm512_cmpge_epu16_mask(cut, least_up);
  return (Words)_mm512_mask_sub_epi16(kept, up, kept, _mm512_set1_epi16(-1));
}
#else
// (a + b + 1) / 2 without overflow.
STRAIT_INLINE AllShorts average(AllShorts a, AllShorts b) {
#if defined(STRAIT_TARGET_AVX2)
  return (AllShorts)_mm256_avg_epu16((__m256i)a, (__m256i)b);
#elif defined(__x86_64__)
  return (AllShorts)_mm_avg_epu16((__m128i)a, (__m128i)b);
#else
  return (a | b) - ((a ^ b) >> 1);
#endif
}

// Bfloat16s of two vectors, taken in turns. The halves that are cut off are rounded all at once:
// the carry out of (cut off + 0x7fff + last bit kept) is the top bit of half that sum.
STRAIT_INLINE Words round_to_bfloats(Floats even, Floats odd) {
  const Words low = (Words)with_nan(even, kNanToRound);
  const Words high = (Words)with_nan(odd, kNanToRound);
  const AllShorts kept = (AllShorts)(low >> 16 | (high & 0xffff0000u));
  const AllShorts cut = (AllShorts)((low & 0xffffu) | high << 16);
  const AllShorts half_sum = average(cut, (kept & uint16_t{1}) | uint16_t{0x7ffe});
  return (Words)(kept + (half_sum >> 15));
}
#endif

// GCC's own widening and narrowing of vectors (__builtin_convertvector) takes a detour through
// scalar registers or halves of vectors. AVX-512: the masked forms, since the plain ones start from
// an uninitialised register, which GCC warns of.
#if defined(STRAIT_TARGET_AVX512)
constexpr __mmask16 kAllLanes = 0xffff;
constexpr int kToNearest = _MM_FROUND_TO_NEAREST_INT;

STRAIT_INLINE Words widen(Shorts v) {
  return (Words)_mm512_maskz_cvtepu16_epi32(kAllLanes, (__m256i)v);
}
STRAIT_INLINE Shorts widen_to_shorts(Bytes v) {
  return (Shorts)_mm256_cvtepu8_epi16((__m128i)v);
}
STRAIT_INLINE Shorts narrow_to_shorts(Words v) {
  return (Shorts)_mm512_maskz_cvtepi32_epi16(kAllLanes, (__m512i)v);
}
STRAIT_INLINE Bytes narrow_to_bytes(Words v) {
  return (Bytes)_mm512_maskz_cvtepi32_epi8(kAllLanes, (__m512i)v);
}
STRAIT_INLINE Floats decode_half(Shorts v) {
  return (Floats)_mm512_maskz_cvtph_ps(kAllLanes, (__m256i)v);
}
STRAIT_INLINE Shorts encode_half(Floats v) {
  return (Shorts)_mm512_maskz_cvtps_ph(kAllLanes, (__m512)with_nan(v, 0x7fffffff), kToNearest);
}
#elif defined(STRAIT_TARGET_AVX2)
STRAIT_INLINE Words widen(Shorts v) {
  return (Words)_mm256_cvtepu16_epi32((__m128i)v);
}
STRAIT_INLINE Shorts widen_to_shorts(Bytes v) {
  return (Shorts)_mm_cvtepu8_epi16(_mm_cvtsi64_si128((long long)v));
}
STRAIT_INLINE Shorts narrow_to_shorts(Words v) {
  const auto low = _mm256_castsi256_si128((__m256i)v);
  return (Shorts)_mm_packus_epi32(low, _mm256_extracti128_si256((__m256i)v, 1));
}
STRAIT_INLINE Bytes narrow_to_bytes(Words v) {
  const auto shorts = (__m128i)narrow_to_shorts(v);
  return (Bytes)_mm_cvtsi128_si64(_mm_packus_epi16(shorts, shorts));
}
STRAIT_INLINE Floats decode_half(Shorts v) {
  return (Floats)_mm256_cvtph_ps((__m128i)v);
}
STRAIT_INLINE Shorts encode_half(Floats v) {
  return (Shorts)_mm256_cvtps_ph((__m256)with_nan(v, 0x7fffffff), _MM_FROUND_TO_NEAREST_INT);
}
#else
STRAIT_INLINE Words widen(Shorts v) {
  return __builtin_convertvector(v, Words);
}
STRAIT_INLINE Words widen(Bytes v) {
  return __builtin_convertvector(v, Words);
}
STRAIT_INLINE Shorts narrow_to_shorts(Words v) {
  return __builtin_convertvector(v, Shorts);
}
STRAIT_INLINE Bytes narrow_to_bytes(Words v) {
  return __builtin_convertvector(v, Bytes);
}
STRAIT_INLINE Floats decode_half(Shorts v) {
  return decode<Half>(widen(v));
}
STRAIT_INLINE Shorts encode_half(Floats v) {
  return narrow_to_shorts(encode<Half>(v));
}
#endif

// fp8 by way of fp16, where the processor converts that: e5m2 is its upper half, e4m3 has a smaller
// exponent.
#if defined(STRAIT_TARGET_AVX2) || defined(STRAIT_TARGET_AVX512)
STRAIT_INLINE Floats decode_e5m2(Bytes v) {
  return decode_half(widen_to_shorts(v) << 8);
}
STRAIT_INLINE Floats decode_e4m3(Bytes v) {
  const Shorts bits = widen_to_shorts(v);
  const Shorts magnitude = bits & uint16_t{E4m3::nan};
  const Shorts half = magnitude << (Half::mantissa - E4m3::mantissa) | (bits - magnitude) << 8;
  const Shorts or_nan = magnitude == uint16_t{E4m3::nan} ? Shorts{} + uint16_t{Half::nan} : half;
  return decode_half(or_nan) * 256.0f;
}
#else
STRAIT_INLINE Floats decode_e5m2(Bytes v) {
  return decode<E5m2>(widen(v));
}
STRAIT_INLINE Floats decode_e4m3(Bytes v) {
  return decode<E4m3>(widen(v));
}
#endif

}  // namespace
}  // namespace strait::reduce::STRAIT_TARGET
