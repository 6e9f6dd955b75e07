#include "codec/samples.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

namespace strait::codec {
namespace {

struct FloatBits {
  int exponent;
  int mantissa;
};

FloatBits float_bits(DataType type) {
  switch (type) {
    case DataType::kFloat16:
      return {5, 10};
    case DataType::kBfloat16:
      return {8, 7};
    case DataType::kFloat32:
      return {8, 23};
    case DataType::kFloat64:
      return {11, 52};
    case DataType::kFloat8e4m3:
      return {4, 3};
    case DataType::kFloat8e5m2:
      return {5, 2};
    default:
      return {0, static_cast<int>(size_of(type) * 8 - 1)};
  }
}

uint64_t compose(DataType type, uint64_t sign, uint64_t exponent, uint64_t mantissa) {
  const FloatBits bits = float_bits(type);
  mantissa &= (uint64_t{1} << bits.mantissa) - 1;
  return sign << (bits.exponent + bits.mantissa) | exponent << bits.mantissa | mantissa;
}

using Generator = std::function<uint64_t(size_t)>;

Sample sample(DataType type, const std::string& name, size_t count, const Generator& value) {
  Sample made{name, {}};
  for (size_t i = 0; i < count; ++i) append_value(made.bytes, type, value(i));
  return made;
}

void add_distributions(DataType type, size_t count, std::vector<Sample>& all) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  const auto add = [&](const std::string& name, const std::function<double(size_t)>& value) {
    all.push_back(sample(type, name, count, [&](size_t i) { return bits_of(type, value(i)); }));
  };
  add("normal", [&](size_t) { return normal(random); });
  add("small normal", [&](size_t) { return 1e-3 * normal(random); });
  add("product of normals", [&](size_t) { return normal(random) * normal(random); });
  double scale = 1;
  add("log-normal rows", [&](size_t i) {
    if (i % 256 == 0) scale = 0.01 * std::exp(normal(random));
    return scale * normal(random);
  });
  add("outliers", [&](size_t i) { return normal(random) * (i % 97 == 0 ? 1e4 : 0.1); });
  add("alternating scales", [&](size_t i) { return normal(random) * (i % 2 == 0 ? 1e3 : 1e-4); });
  add("mostly zero", [&](size_t) { return random() % 10 == 0 ? normal(random) : 0.0; });
  add("rectified", [&](size_t) { return std::max(0.0, normal(random)); });
  add("zero and normal blocks", [&](size_t i) { return i / 700 % 2 == 0 ? 0.0 : normal(random); });
  add("few levels", [&](size_t) { return 0.25 * static_cast<double>(random() % 5); });
}

// Wider values that were narrow once: the low bits are zero, or nearly.
void add_accumulated(DataType type, size_t count, std::vector<Sample>& all) {
  std::mt19937_64 random(8);
  std::normal_distribution<float> normal;
  const auto narrow = [&] {
    const float value = 0.01f * normal(random);
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    bits &= 0xFFFF0000;
    float cut;
    std::memcpy(&cut, &bits, 4);
    return cut;
  };
  for (int terms : {1, 2, 4, 16})
    all.push_back(sample(type, "sum of " + std::to_string(terms), count, [&](size_t) {
      float sum = 0;
      for (int k = 0; k < terms; ++k) sum += narrow();
      return bits_of(type, sum);
    }));
}

void add_bit_patterns(DataType type, size_t count, std::vector<Sample>& all) {
  std::mt19937_64 random(9);
  const size_t width = size_of(type) * 8;
  const uint64_t mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  const FloatBits bits = float_bits(type);
  const uint64_t last = (uint64_t{1} << bits.exponent) - 1;
  const auto add = [&](const std::string& name, const Generator& value) {
    all.push_back(sample(type, name, count, value));
  };
  add("zeros", [](size_t) { return 0; });
  add("random bits", [&](size_t) { return random() & mask; });
  add("counting", [&](size_t i) { return i & mask; });
  add("all ones", [&](size_t) { return mask; });
  add("constant", [&](size_t) { return 0x3A5B7C1D3A5B7C1D & mask; });
  add("one odd value", [&](size_t i) { return i % 511 == 7 ? mask : uint64_t{1}; });
  if (bits.exponent == 0) return;
  add("negative zeros", [&](size_t) { return compose(type, 1, 0, 0); });
  add("not a number", [&](size_t) { return compose(type, random() & 1, last, random() | 1); });
  add("infinities", [&](size_t) { return compose(type, random() & 1, last, 0); });
  add("denormals", [&](size_t) { return compose(type, random() & 1, 0, random()); });
  add("one exponent", [&](size_t) { return compose(type, random() & 1, last / 2, random()); });
  add("every exponent",
      [&](size_t) { return compose(type, random() & 1, random() & last, random()); });
  add("two exponents", [&](size_t i) { return compose(type, 0, i % 3 ? last / 2 : 1, random()); });
  add("exponents in a row", [&](size_t i) { return compose(type, 0, (i / 5) & last, random()); });
  add("geometric exponents", [&](size_t) {
    const uint64_t down = static_cast<uint64_t>(std::countr_zero(random() | (uint64_t{1} << 40)));
    return compose(type, random() & 1, last - std::min(last, down), random());
  });
}

}  // namespace

uint64_t bits_of(DataType type, double value) {
  const FloatBits bits = float_bits(type);
  if (bits.exponent == 0)
    return compose(type, value < 0, 0, static_cast<uint64_t>(std::abs(value)));
  const uint64_t sign = std::signbit(value);
  if (value == 0) return compose(type, sign, 0, 0);
  int power = 0;
  const double fraction = 2 * std::frexp(std::abs(value), &power) - 1;  // in [0, 1)
  const int bias = (1 << (bits.exponent - 1)) - 1;
  const int exponent = std::clamp(power - 1 + bias, 0, 2 * bias + 1);
  if (exponent == 0) return compose(type, sign, 0, 0);
  return compose(type, sign, static_cast<uint64_t>(exponent),
                 static_cast<uint64_t>(std::ldexp(fraction, bits.mantissa)));
}

void append_value(std::vector<uint8_t>& bytes, DataType type, uint64_t bits) {
  for (size_t k = 0; k < size_of(type); ++k) bytes.push_back(static_cast<uint8_t>(bits >> (8 * k)));
}

std::vector<Sample> samples(DataType type, size_t count) {
  std::vector<Sample> all;
  add_bit_patterns(type, count, all);
  add_distributions(type, count, all);
  if (type == DataType::kFloat32 || type == DataType::kFloat64) add_accumulated(type, count, all);
  return all;
}

}  // namespace strait::codec
