#include "perf/codec_perf/fields.hpp"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <random>

#include "perf/safetensors.hpp"

namespace strait::perf {
namespace {

struct Widths {
  int exponent;
  int mantissa;
};

Widths widths_of(DataType type) {
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
    default:
      return {5, 2};
  }
}

// The nearest bits towards zero; what is too small becomes zero.
uint64_t bits_of(Widths widths, double value) {
  int power = 0;
  const double fraction = 2 * std::frexp(std::abs(value), &power) - 1;
  const int exponent = power - 1 + (1 << (widths.exponent - 1)) - 1;
  const uint64_t sign = uint64_t{std::signbit(value)} << (widths.exponent + widths.mantissa);
  if (value == 0 || exponent <= 0) return sign;
  return sign | static_cast<uint64_t>(exponent) << widths.mantissa |
         static_cast<uint64_t>(std::ldexp(fraction, widths.mantissa));
}

}  // namespace

Field normal_field(DataType type, size_t bytes) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal(0, size_of(type) == 1 ? 1 : 0.02);
  Field field{"normal " + std::to_string(bytes >> 10) + "K", type, std::vector<std::byte>(bytes)};
  for (size_t at = 0; at + size_of(type) <= bytes; at += size_of(type)) {
    const uint64_t value = bits_of(widths_of(type), normal(random));
    std::memcpy(field.values.data() + at, &value, size_of(type));
  }
  return field;
}

Result<std::vector<Field>> file_fields(const std::vector<std::string>& paths) {
  std::vector<Field> fields;
  for (const std::string& path : paths) {
    STRAIT_ASSIGN(const SafetensorsFile file, SafetensorsFile::open(path));
    std::map<DataType, Field> by_type;
    for (const Tensor& tensor : file.tensors()) {
      if (!tensor.type || !is_float(*tensor.type)) continue;
      Field& field = by_type[*tensor.type];
      field.name = std::filesystem::path(path).stem();
      field.type = *tensor.type;
      field.values.insert(field.values.end(), tensor.bytes.begin(), tensor.bytes.end());
    }
    for (auto& [type, field] : by_type) fields.push_back(std::move(field));
  }
  if (fields.empty())
    return error(Code::kInvalidArgument, "the files hold no floating-point tensors");
  return fields;
}

}  // namespace strait::perf
