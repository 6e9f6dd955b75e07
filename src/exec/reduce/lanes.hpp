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

#if defined(STRAIT_TARGET_F16C) || defined(STRAIT_TARGET_AVX512)
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
  // Added to a number below smallest_normal it moves the mantissa down to its place, rounding on
  // the way.
  static constexpr int32_t align = (127 - kBias + 1 + shift) << 23;
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

template <class L>
STRAIT_INLINE Words encode(Floats value) {
  const Words bits = (Words)value;
  const SignedWords exact = (SignedWords)(bits & 0x7fffffffu);
  const SignedWords magnitude = exact < L::limit ? exact : SignedWords{} + L::limit;
  const SignedWords rebiased = magnitude - L::rebias;
  const SignedWords odd = (rebiased >> L::shift) & 1;
  const SignedWords normal = (rebiased + ((1 << (L::shift - 1)) - 1) + odd) >> L::shift;
  const Floats aligned = (Floats)magnitude + (Floats)(SignedWords{} + L::align);
  const SignedWords tiny = (SignedWords)aligned - L::align;
  const SignedWords rounded = magnitude < L::smallest_normal ? tiny : normal;
  const Words signed_bits = (Words)rounded | (bits >> L::sign_shift & L::sign);
  return exact > 0x7f800000 ? Words{} + L::nan : signed_bits;
}

STRAIT_INLINE Floats with_one_nan(Floats value) {
  return value != value ? (Floats)(Words{} + 0x7fffffffu) : value;
}

STRAIT_INLINE Shorts encode_bfloat(Floats value) {
  const Words bits = (Words)value;
  const Words rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  const Words kept = value != value ? Words{} + 0x7fffu : rounded;
  return __builtin_convertvector(kept, Shorts);
}

#if defined(STRAIT_TARGET_AVX512)
// The masked forms: the plain ones start from an uninitialised register, which GCC warns of.
constexpr __mmask16 kAllLanes = 0xffff;
#endif

STRAIT_INLINE Floats decode_half(Shorts halfs) {
#if defined(STRAIT_TARGET_AVX512)
  return (Floats)_mm512_maskz_cvtph_ps(kAllLanes, (__m256i)halfs);
#elif defined(STRAIT_TARGET_F16C)
  return (Floats)_mm256_cvtph_ps((__m128i)halfs);
#else
  return decode<Half>(__builtin_convertvector(halfs, Words));
#endif
}

STRAIT_INLINE Shorts encode_half(Floats value) {
#if defined(STRAIT_TARGET_AVX512)
  return (Shorts)_mm512_maskz_cvtps_ph(kAllLanes, (__m512)with_one_nan(value),
                                       _MM_FROUND_TO_NEAREST_INT);
#elif defined(STRAIT_TARGET_F16C)
  return (Shorts)_mm256_cvtps_ph((__m256)with_one_nan(value), _MM_FROUND_TO_NEAREST_INT);
#else
  return __builtin_convertvector(encode<Half>(value), Shorts);
#endif
}

}  // namespace
}  // namespace strait::reduce::STRAIT_TARGET
