// The number types of a collective as C++ types, written for clarity and independent of the
// library's own arithmetic: they are what its results are checked against. SmallFloat holds the
// bits of a 16- or 8-bit float; widen() is exact, round_to() rounds to nearest even. Pure
// functions, any thread; a widening costs a table look-up, a rounding a few instructions.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/check.hpp"
#include "base/types.hpp"

namespace strait::perf {

// kInfinity false: the largest exponent holds numbers and only the all-ones pattern is not one
// (e4m3).
template <int exponent_bits, int mantissa_bits, bool infinity>
struct SmallFloat {
  static constexpr int kExponentBits = exponent_bits;
  static constexpr int kMantissaBits = mantissa_bits;
  static constexpr bool kInfinity = infinity;
  static constexpr int kBits = 1 + exponent_bits + mantissa_bits;
  static constexpr int kBias = (1 << (exponent_bits - 1)) - 1;
  using Bits = std::conditional_t<kBits == 16, uint16_t, uint8_t>;
  Bits bits;
};

using Bfloat16 = SmallFloat<8, 7, true>;
using Half = SmallFloat<5, 10, true>;
using Float8e4m3 = SmallFloat<4, 3, false>;
using Float8e5m2 = SmallFloat<5, 2, true>;

template <class T>
inline constexpr bool kIsSmallFloat = requires {
  T::kMantissaBits;
};
template <class T>
inline constexpr bool kIsFloat = kIsSmallFloat<T> || std::is_floating_point_v<T>;

// Bits of the significand, the hidden one included: integers up to 2^p are exact.
template <class T>
constexpr int precision_bits() {
  if constexpr (kIsSmallFloat<T>)
    return T::kMantissaBits + 1;
  else
    return std::numeric_limits<T>::digits;
}

template <class T>
float widen_by_definition(T value) {
  const int exponent = (value.bits >> T::kMantissaBits) & ((1 << T::kExponentBits) - 1);
  const int mantissa = value.bits & ((1 << T::kMantissaBits) - 1);
  const int all_ones = (1 << T::kExponentBits) - 1;
  const float sign = (value.bits >> (T::kBits - 1)) != 0 ? -1.0f : 1.0f;
  if (exponent == all_ones) {
    if (T::kInfinity)
      return mantissa == 0 ? sign * std::numeric_limits<float>::infinity()
                           : std::numeric_limits<float>::quiet_NaN();
    if (mantissa == (1 << T::kMantissaBits) - 1) return std::numeric_limits<float>::quiet_NaN();
  }
  if (exponent == 0)
    return sign * std::ldexp(static_cast<float>(mantissa), 1 - T::kBias - T::kMantissaBits);
  return sign * std::ldexp(static_cast<float>(mantissa + (1 << T::kMantissaBits)),
                           exponent - T::kBias - T::kMantissaBits);
}

template <class T>
float widen(T value) {
  static_assert(kIsSmallFloat<T>);
  static const auto table = [] {
    std::array<float, size_t{1} << T::kBits> values{};
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = widen_by_definition(T{static_cast<typename T::Bits>(i)});
    return values;
  }();
  return table[value.bits];
}

// Magnitudes below the smallest normal number: whole units of the last place, ties to even.
template <class T>
T round_to_subnormal(float value) {
  const double units =
      std::ldexp(std::fabs(static_cast<double>(value)), T::kMantissaBits + T::kBias - 1);
  const auto sign = static_cast<uint32_t>(std::signbit(value)) << (T::kBits - 1);
  return T{static_cast<typename T::Bits>(sign | static_cast<uint32_t>(std::nearbyint(units)))};
}

template <class T>
T round_to(float value) {
  static_assert(kIsSmallFloat<T>);
  using Bits = typename T::Bits;
  constexpr uint32_t kInfinityBits = ((1u << T::kExponentBits) - 1) << T::kMantissaBits;
  constexpr uint32_t kNanBits = (1u << (T::kBits - 1)) - 1;
  constexpr uint32_t kBeyond = T::kInfinity ? kInfinityBits : kNanBits;
  constexpr int kDropped = 23 - T::kMantissaBits;
  const uint32_t source = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (source >> 31) << (T::kBits - 1);
  const uint32_t magnitude = source & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return T{static_cast<Bits>(sign | kNanBits)};
  if (magnitude < static_cast<uint32_t>(128 - T::kBias) << 23) return round_to_subnormal<T>(value);
  const uint32_t odd = (magnitude >> kDropped) & 1;
  const uint32_t rounded = (magnitude + ((1u << (kDropped - 1)) - 1) + odd) >> kDropped;
  const uint32_t bits = rounded - (static_cast<uint32_t>(127 - T::kBias) << T::kMantissaBits);
  return T{static_cast<Bits>(sign | (bits >= kBeyond ? kBeyond : bits))};
}

// The accumulator of a reduction: fp32 for the small floats, the type itself otherwise.
template <class T>
using Accumulator = std::conditional_t<kIsSmallFloat<T>, float, T>;

template <class T>
Accumulator<T> load(T value) {
  if constexpr (kIsSmallFloat<T>)
    return widen(value);
  else
    return value;
}

template <class T>
T store(Accumulator<T> value) {
  if constexpr (kIsSmallFloat<T>)
    return round_to<T>(value);
  else
    return value;
}

// Calls action(T{}) with the C++ type that stands for `type`.
template <class Action>
decltype(auto) with_type(DataType type, Action&& action) {
  switch (type) {
    case DataType::kInt8:
      return action(int8_t{});
    case DataType::kUint8:
      return action(uint8_t{});
    case DataType::kInt32:
      return action(int32_t{});
    case DataType::kUint32:
      return action(uint32_t{});
    case DataType::kInt64:
      return action(int64_t{});
    case DataType::kUint64:
      return action(uint64_t{});
    case DataType::kFloat16:
      return action(Half{});
    case DataType::kFloat32:
      return action(float{});
    case DataType::kFloat64:
      return action(double{});
    case DataType::kBfloat16:
      return action(Bfloat16{});
    case DataType::kFloat8e4m3:
      return action(Float8e4m3{});
    case DataType::kFloat8e5m2:
      return action(Float8e5m2{});
  }
  check_failed("type", "a number type is one of twelve", __FILE__, __LINE__);
}

}  // namespace strait::perf
