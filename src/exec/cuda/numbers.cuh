// What each data type is to a kernel: how it is read and written, and the four operations, with the
// very bits of the host's reductions (exec/reduce). 16- and 8-bit floats are computed in fp32 and
// rounded once, to nearest even; NaNs are written with all bits but the sign set; fp8 saturates.
// Device code, any thread.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/device.cuh"

namespace strait::gpu {

// A compiler may fuse a product and a sum into one rounding; these never are.
__device__ __forceinline__ float add(float a, float b) {
#if defined(STRAIT_SIMT)
  return a + b;
#else
  return __fadd_rn(a, b);
#endif
}
__device__ __forceinline__ double add(double a, double b) {
#if defined(STRAIT_SIMT)
  return a + b;
#else
  return __dadd_rn(a, b);
#endif
}
__device__ __forceinline__ float multiply(float a, float b) {
#if defined(STRAIT_SIMT)
  return a * b;
#else
  return __fmul_rn(a, b);
#endif
}
__device__ __forceinline__ double multiply(double a, double b) {
#if defined(STRAIT_SIMT)
  return a * b;
#else
  return __dmul_rn(a, b);
#endif
}

template <class To, class From>
__device__ __forceinline__ To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

template <class T>
struct BitsOf;
template <>
struct BitsOf<float> {
  using Type = uint32_t;
};
template <>
struct BitsOf<double> {
  using Type = uint64_t;
};

template <class T>
struct FloatMath {
  using Value = T;
  using Bits = typename BitsOf<T>::Type;
  static constexpr bool kIsFloat = true;

  __device__ static T factor(double factor_float, uint64_t) { return static_cast<T>(factor_float); }
  __device__ static T sum(T a, T b) { return add(a, b); }
  __device__ static T prod(T a, T b) { return multiply(a, b); }
  // A number wins over a NaN; equal values have equal bits, but for zeros of different sign.
  __device__ static T max(T a, T b) {
    if (a == b) return bits_as<T>(bits_as<Bits>(a) & bits_as<Bits>(b));
    return a > b || b != b ? a : b;
  }
  __device__ static T min(T a, T b) {
    if (a == b) return bits_as<T>(bits_as<Bits>(a) | bits_as<Bits>(b));
    return a < b || b != b ? a : b;
  }
  __device__ static T divide(T value, uint64_t) { return value; }
  __device__ static T with_one_nan(T value) {
    return value != value ? bits_as<T>(static_cast<Bits>(~Bits{0} >> 1)) : value;
  }
};

template <class T>
struct WholeFloat : FloatMath<T> {
  using Narrow = T;
  static constexpr bool kHasWideForm = false;
  __device__ static T read(Narrow value) { return value; }
  __device__ static Narrow write(T value) { return FloatMath<T>::with_one_nan(value); }
};

// A sign, an exponent and a mantissa in the low bits of a word.
template <int kSignBit, int kMantissaBits, int kBias, uint32_t kLimitBits, bool kInfinity>
struct FloatLayout {
  static constexpr int shift = 23 - kMantissaBits;
  static constexpr int sign_shift = 31 - kSignBit;
  static constexpr uint32_t sign = 1u << kSignBit;
  static constexpr uint32_t nan = sign - 1;
  static constexpr int32_t rebias = (127 - kBias) << 23;
  static constexpr int32_t smallest_normal = rebias + (1 << 23);
  static constexpr int32_t limit = static_cast<int32_t>(kLimitBits << shift) + rebias;
  static constexpr int32_t top_exponent = static_cast<int32_t>(nan >> kMantissaBits) << 23;

  __device__ static float read(uint32_t bits) {
    const auto magnitude = static_cast<int32_t>((bits & nan) << shift);
    const int32_t normal = magnitude + rebias;
    int32_t value = normal;
    // A zero exponent: under an implicit one, which is then taken away, exactly.
    if (magnitude < 1 << 23)
      value = bits_as<int32_t>(
          add(bits_as<float>(normal + (1 << 23)), -bits_as<float>(smallest_normal)));
    if (kInfinity && magnitude >= top_exponent) value = magnitude | 0x7f800000;
    if (!kInfinity && magnitude == static_cast<int32_t>(nan << shift)) value = 0x7fffffff;
    return bits_as<float>(static_cast<uint32_t>(value) | (bits & sign) << sign_shift);
  }
  // A power of two so large that the sum's last bit is that of the narrow format does the rounding.
  __device__ static uint32_t write(float number) {
    const auto bits = bits_as<uint32_t>(number);
    const auto exact = static_cast<int32_t>(bits & 0x7fffffffu);
    if (exact > 0x7f800000) return nan;
    const int32_t magnitude = exact < limit ? exact : limit;
    const int32_t own_exponent = magnitude & 0x7f800000;
    const int32_t exponent = own_exponent > smallest_normal ? own_exponent : smallest_normal;
    const int32_t power = exponent + (shift << 23);
    const int32_t mantissa =
        bits_as<int32_t>(add(bits_as<float>(magnitude), bits_as<float>(power))) - power;
    const int32_t code = mantissa + ((exponent - smallest_normal) >> shift);
    return static_cast<uint32_t>(code) | (bits >> sign_shift & sign);
  }
};
using HalfLayout = FloatLayout<15, 10, 15, 0x7c00, true>;
using E5m2Layout = FloatLayout<7, 2, 15, 0x7b, true>;
using E4m3Layout = FloatLayout<7, 3, 7, 0x7e, false>;

struct Bfloat16 : FloatMath<float> {
  using Narrow = uint16_t;
  static constexpr bool kHasWideForm = true;
  __device__ static float read(uint16_t bits) {
    return bits_as<float>(static_cast<uint32_t>(bits) << 16);
  }
  __device__ static uint16_t write(float value) {
    // The NaN with room below survives the rounding.
    const uint32_t bits = value != value ? 0x7fff0000u : bits_as<uint32_t>(value);
    return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
  }
};

struct Float16 : FloatMath<float> {
  using Narrow = uint16_t;
  static constexpr bool kHasWideForm = true;
#if defined(STRAIT_SIMT)
  static float read(uint16_t bits) {
    return HalfLayout::read(bits);
  }
  static uint16_t write(float value) {
    return static_cast<uint16_t>(HalfLayout::write(value));
  }
#else
  __device__ static float read(uint16_t bits) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
  }
  __device__ static uint16_t write(float value) {
    uint16_t bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return value != value ? uint16_t{0x7fff} : bits;
  }
#endif
};

template <class Layout>
struct Float8 : FloatMath<float> {
  using Narrow = uint8_t;
  static constexpr bool kHasWideForm = true;
  __device__ static float read(uint8_t bits) { return Layout::read(bits); }
  __device__ static uint8_t write(float value) {
    return static_cast<uint8_t>(Layout::write(value));
  }
};
using Float8e4m3 = Float8<E4m3Layout>;
using Float8e5m2 = Float8<E5m2Layout>;

// Sums and products wrap around, as those of the unsigned type do; T decides comparisons and
// division.
template <class T, class Unsigned>
struct Whole {
  using Value = Unsigned;
  using Narrow = Unsigned;
  static constexpr bool kIsFloat = false;
  static constexpr bool kHasWideForm = false;
  static constexpr bool kSigned = static_cast<T>(-1) < static_cast<T>(1);

  __device__ static Value factor(double, uint64_t factor_integer) {
    return static_cast<Value>(factor_integer);
  }
  __device__ static Value read(Narrow value) { return value; }
  __device__ static Narrow write(Value value) { return value; }
  __device__ static Value with_one_nan(Value value) { return value; }
  __device__ static Value sum(Value a, Value b) { return static_cast<Value>(a + b); }
  // Small types are multiplied as int, which overflows for 16 bits and more of them.
  __device__ static Value prod(Value a, Value b) {
    return static_cast<Value>(static_cast<uint64_t>(a) * b);
  }
  __device__ static Value max(Value a, Value b) {
    return static_cast<T>(a) > static_cast<T>(b) ? a : b;
  }
  __device__ static Value min(Value a, Value b) {
    return static_cast<T>(a) < static_cast<T>(b) ? a : b;
  }
  __device__ static Value divide(Value value, uint64_t divisor) {
    bool negative = false;
    if constexpr (kSigned) negative = static_cast<T>(value) < 0;
    // Without the sign it fits its own type, and 32 bits are divided much faster than 64.
    const auto magnitude = static_cast<Unsigned>(negative ? 0 - value : value);
    using Wide = std::conditional_t<sizeof(T) <= 4, uint32_t, uint64_t>;
    const Wide quotient =
        divisor > Wide(~Wide{0}) ? 0 : static_cast<Wide>(magnitude) / static_cast<Wide>(divisor);
    return static_cast<Value>(negative ? 0 - quotient : quotient);
  }
};

using Int8 = Whole<int8_t, uint8_t>;
using Uint8 = Whole<uint8_t, uint8_t>;
using Int32 = Whole<int32_t, uint32_t>;
using Uint32 = Whole<uint32_t, uint32_t>;
using Int64 = Whole<int64_t, uint64_t>;
using Uint64 = Whole<uint64_t, uint64_t>;
using Float32 = WholeFloat<float>;
using Float64 = WholeFloat<double>;

}  // namespace strait::gpu
