#include "base/types.hpp"

#include <array>

namespace strait {
namespace {

struct TypeRow {
  std::string_view name;
  uint8_t bytes;
  bool floating;
};

constexpr std::array<TypeRow, kDataTypeCount> kTypes = {{
    {"int8", 1, false},
    {"uint8", 1, false},
    {"int32", 4, false},
    {"uint32", 4, false},
    {"int64", 8, false},
    {"uint64", 8, false},
    {"half", 2, true},
    {"float", 4, true},
    {"double", 8, true},
    {"bfloat16", 2, true},
    {"f8e4m3", 1, true},
    {"f8e5m2", 1, true},
}};

constexpr std::array<std::string_view, kReduceKindCount> kKinds = {"sum", "prod", "max",
                                                                   "min", "avg",  "mulsum"};

const TypeRow& row(DataType type) {
  return kTypes[static_cast<size_t>(type)];
}

}  // namespace

size_t size_of(DataType type) {
  return row(type).bytes;
}
bool is_float(DataType type) {
  return row(type).floating;
}
bool is_narrow_float(DataType type) {
  return is_float(type) && size_of(type) < 4;
}
size_t accumulator_size(DataType type) {
  return is_narrow_float(type) ? 4 : size_of(type);
}
std::string_view name_of(DataType type) {
  return row(type).name;
}
std::string_view name_of(ReduceKind kind) {
  return kKinds[static_cast<size_t>(kind)];
}

std::optional<DataType> parse_data_type(std::string_view name) {
  for (size_t i = 0; i < kTypes.size(); ++i)
    if (kTypes[i].name == name) return static_cast<DataType>(i);
  return std::nullopt;
}

std::optional<ReduceKind> parse_reduce_kind(std::string_view name) {
  for (size_t i = 0; i < kKinds.size(); ++i)
    if (kKinds[i] == name) return static_cast<ReduceKind>(i);
  return std::nullopt;
}

}  // namespace strait
