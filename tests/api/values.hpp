// Small whole numbers in every data type, for tests whose sums are exact in any order. Slow and
// obvious.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/types.hpp"

namespace strait::test {

// The bits of a value that the float format holds exactly.
inline uint64_t float_bits(double value, int exponent_bits, int mantissa_bits) {
  const uint64_t sign = std::signbit(value) ? uint64_t{1} << (exponent_bits + mantissa_bits) : 0;
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  const int exponent = std::ilogb(magnitude);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const double fraction = std::ldexp(magnitude, -exponent) - 1.0;
  const auto mantissa = static_cast<uint64_t>(std::ldexp(fraction, mantissa_bits));
  return sign | static_cast<uint64_t>(exponent + bias) << mantissa_bits | mantissa;
}

inline void put_value(double value, DataType type, std::byte* place) {
  uint64_t bits = 0;
  switch (type) {
    case DataType::kFloat16:
      bits = float_bits(value, 5, 10);
      break;
    case DataType::kFloat32:
      bits = float_bits(value, 8, 23);
      break;
    case DataType::kFloat64:
      bits = float_bits(value, 11, 52);
      break;
    case DataType::kBfloat16:
      bits = float_bits(value, 8, 7);
      break;
    case DataType::kFloat8e4m3:
      bits = float_bits(value, 4, 3);
      break;
    case DataType::kFloat8e5m2:
      bits = float_bits(value, 5, 2);
      break;
    default:
      bits = static_cast<uint64_t>(static_cast<int64_t>(value));
  }
  std::memcpy(place, &bits, size_of(type));  // little endian
}

// `count` values made by value_at(i).
template <class ValueAt>
std::vector<std::byte> make_values(DataType type, size_t count, ValueAt&& value_at) {
  std::vector<std::byte> bytes(count * size_of(type));
  for (size_t i = 0; i < count; ++i) put_value(value_at(i), type, bytes.data() + i * size_of(type));
  return bytes;
}

// 0, 1 or 2, different for neighbouring ranks and elements.
inline double sample(int rank, size_t index) {
  return static_cast<double>((index * 7 + static_cast<size_t>(rank) * 5 + index / 3) % 3);
}

}  // namespace strait::test
