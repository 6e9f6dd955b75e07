#include "exec/reduce_reference.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

namespace strait::reference {
namespace {

using Quad =
    __float128;  // rounding a quad to double after one operation on doubles rounds only once
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Layout {
  int bits;
  int mantissa;
  int bias;
};
Layout layout_of(DataType type) {
  switch (type) {
    case DataType::kFloat16:
      return {16, 10, 15};
    case DataType::kBfloat16:
      return {16, 7, 127};
    case DataType::kFloat8e4m3:
      return {8, 3, 7};
    default:
      return {8, 2, 15};
  }
}

// Values of the patterns 0, 1, 2, ... in ascending order. Where infinity exists and overflow
// reaches it, the next power of two stands for it, so that what lies closer to that than to the
// largest number becomes infinity.
struct Table {
  std::vector<double> values;
  uint64_t nan;
};
Table make_table(DataType type) {
  const Layout layout = layout_of(type);
  const bool saturates = layout.bits == 8;
  Table table{{}, (uint64_t{1} << (layout.bits - 1)) - 1};
  for (uint64_t bits = 0; std::isfinite(decode(type, bits)); ++bits)
    table.values.push_back(decode(type, bits));
  if (!saturates) table.values.push_back(std::ldexp(1.0, layout.bias + 1));
  return table;
}
const Table& table_of(DataType type) {
  static const std::array<Table, 4> tables = {
      make_table(DataType::kFloat16), make_table(DataType::kBfloat16),
      make_table(DataType::kFloat8e4m3), make_table(DataType::kFloat8e5m2)};
  switch (type) {
    case DataType::kFloat16:
      return tables[0];
    case DataType::kBfloat16:
      return tables[1];
    case DataType::kFloat8e4m3:
      return tables[2];
    default:
      return tables[3];
  }
}

double float_of(uint64_t bits) {
  const auto low = static_cast<uint32_t>(bits);
  float value;
  std::memcpy(&value, &low, sizeof(value));
  return value;
}
double double_of(uint64_t bits) {
  double value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}
uint64_t bits_of_float(double value) {
  if (std::isnan(value)) return 0x7fffffff;
  const auto rounded = static_cast<float>(value);
  uint32_t bits;
  std::memcpy(&bits, &rounded, sizeof(bits));
  return bits;
}
uint64_t bits_of_double(double value) {
  if (std::isnan(value)) return 0x7fffffffffffffff;
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

double round_to(DataType type, Quad exact) {
  if (type == DataType::kFloat64) return static_cast<double>(exact);
  return float_of(bits_of_float(static_cast<double>(exact)));
}

// The larger of two numbers, a number before a NaN, +0 before -0.
double larger(double a, double b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

double combine_floats(DataType type, ReduceKind kind, double a, double b) {
  switch (kind) {
    case ReduceKind::kProd:
      return round_to(type, static_cast<Quad>(a) * static_cast<Quad>(b));
    case ReduceKind::kMax:
      return larger(a, b);
    case ReduceKind::kMin:
      return -larger(-a, -b);
    default:
      return round_to(type, static_cast<Quad>(a) + static_cast<Quad>(b));
  }
}

double read(DataType type, Form form, uint64_t bits) {
  if (type == DataType::kFloat64) return double_of(bits);
  if (type == DataType::kFloat32 || form == Form::kWide) return float_of(bits);
  return decode(type, bits);
}

uint64_t write(DataType type, Form form, double value) {
  if (type == DataType::kFloat64) return bits_of_double(value);
  if (type == DataType::kFloat32 || form == Form::kWide) return bits_of_float(value);
  return encode(type, value);
}

uint64_t combine_as_floats(const Case& c, uint64_t first, uint64_t second) {
  const DataType type = c.arithmetic.type;
  const auto take = [&](uint64_t bits, Form form, bool scaled) {
    const double value = read(type, form, bits);
    if (!scaled || !c.arithmetic.has_scale) return value;
    const double scale = round_to(type, c.arithmetic.scale_float);
    const double product = round_to(type, static_cast<Quad>(value) * static_cast<Quad>(scale));
    const bool travels_rounded = is_narrow_float(type) && form == Form::kNarrow;
    return travels_rounded ? decode(type, encode(type, product)) : product;
  };
  double value = take(first, c.first_form, c.first_scaled);
  if (c.has_second)
    value = combine_floats(type, c.arithmetic.kind, value,
                           take(second, c.second_form, c.second_scaled));
  return write(type, c.out, value);
}

uint64_t combine_as_integers(const Case& c, uint64_t first, uint64_t second) {
  const DataType type = c.arithmetic.type;
  const bool is_signed =
      type == DataType::kInt8 || type == DataType::kInt32 || type == DataType::kInt64;
  const __int128 modulus = static_cast<__int128>(1) << (8 * size_of(type));
  const auto wrap = [&](__int128 value) {
    value %= modulus;
    if (value < 0) value += modulus;
    if (is_signed && value >= modulus / 2) value -= modulus;
    return value;
  };
  // Products of two 64-bit numbers: taken modulo 2^128, which keeps the low 64 bits.
  const auto times = [&](__int128 a, __int128 b) {
    const auto product = static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b);
    return wrap(static_cast<__int128>(product % static_cast<unsigned __int128>(modulus)));
  };
  const auto take = [&](uint64_t bits, bool scaled) {
    const __int128 value = wrap(bits);
    if (!scaled || !c.arithmetic.has_scale) return value;
    return times(value, c.arithmetic.scale_integer);
  };
  __int128 value = take(first, c.first_scaled);
  if (c.has_second) {
    const __int128 other = take(second, c.second_scaled);
    switch (c.arithmetic.kind) {
      case ReduceKind::kProd:
        value = times(value, other);
        break;
      case ReduceKind::kMax:
        value = value > other ? value : other;
        break;
      case ReduceKind::kMin:
        value = value < other ? value : other;
        break;
      default:
        value = wrap(value + other);
    }
  }
  if (c.finish) value /= static_cast<__int128>(c.arithmetic.divisor);
  if (value < 0) value += modulus;
  return static_cast<uint64_t>(value);
}

}  // namespace

double decode(DataType type, uint64_t bits) {
  const Layout layout = layout_of(type);
  const uint64_t mantissa_values = uint64_t{1} << layout.mantissa;
  const uint64_t sign = bits >> (layout.bits - 1);
  const uint64_t exponent_count = uint64_t{1} << (layout.bits - 1 - layout.mantissa);
  const uint64_t exponent = (bits / mantissa_values) % exponent_count;
  const auto mantissa = static_cast<double>(bits % mantissa_values);
  const double fraction = mantissa / static_cast<double>(mantissa_values);
  const double sign_factor = sign != 0 ? -1.0 : 1.0;
  if (type == DataType::kFloat8e4m3) {
    if (exponent == exponent_count - 1 && bits % mantissa_values == mantissa_values - 1)
      return kNan;
  } else if (exponent == exponent_count - 1) {
    return mantissa == 0 ? sign_factor * std::numeric_limits<double>::infinity() : kNan;
  }
  if (exponent == 0) return sign_factor * std::ldexp(fraction, 1 - layout.bias);
  return sign_factor * std::ldexp(1 + fraction, static_cast<int>(exponent) - layout.bias);
}

uint64_t encode(DataType type, double value) {
  const Table& table = table_of(type);
  if (std::isnan(value)) return table.nan;
  const double magnitude = std::fabs(value);
  const uint64_t sign = std::signbit(value) ? table.nan + 1 : 0;
  if (magnitude >= table.values.back()) return sign | (table.values.size() - 1);
  uint64_t low = 0;
  uint64_t high = table.values.size() - 1;
  while (high - low > 1) {
    const uint64_t middle = (low + high) / 2;
    (table.values[middle] <= magnitude ? low : high) = middle;
  }
  const double below = magnitude - table.values[low];
  const double above = table.values[high] - magnitude;
  if (below == above) return sign | (low % 2 == 0 ? low : high);
  return sign | (below < above ? low : high);
}

uint64_t combine(const Case& c, uint64_t first, uint64_t second) {
  const bool narrow = is_narrow_float(c.arithmetic.type);
  const bool same_form = !narrow || c.out == c.first_form;
  const bool scaled = c.first_scaled && c.arithmetic.has_scale;
  const bool divides = c.finish && c.arithmetic.divisor != 1;
  if (!c.has_second && same_form && !scaled && !divides) return first;
  return is_float(c.arithmetic.type) ? combine_as_floats(c, first, second)
                                     : combine_as_integers(c, first, second);
}

size_t bytes_of(DataType type, Form form) {
  return form == Form::kWide ? accumulator_size(type) : size_of(type);
}
uint64_t get(const void* data, size_t bytes, size_t index) {
  uint64_t bits = 0;
  std::memcpy(&bits, static_cast<const char*>(data) + index * bytes, bytes);
  return bits;
}
void put(void* data, size_t bytes, size_t index, uint64_t bits) {
  std::memcpy(static_cast<char*>(data) + index * bytes, &bits, bytes);
}

}  // namespace strait::reference
