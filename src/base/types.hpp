// The number types and reduction operations of a collective, by NCCL's numbering. Values; any
// thread; no cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace strait {

enum class DataType : uint8_t {
  kInt8 = 0,
  kUint8 = 1,
  kInt32 = 2,
  kUint32 = 3,
  kInt64 = 4,
  kUint64 = 5,
  kFloat16 = 6,
  kFloat32 = 7,
  kFloat64 = 8,
  kBfloat16 = 9,
  kFloat8e4m3 = 10,
  kFloat8e5m2 = 11,
};
inline constexpr int kDataTypeCount = 12;

enum class ReduceKind : uint8_t {
  kSum = 0,
  kProd = 1,
  kMax = 2,
  kMin = 3,
  kAvg = 4,
  kPreMulSum = 5
};
inline constexpr int kReduceKindCount = 6;

size_t size_of(DataType type);  // bytes of one element
size_t accumulator_size(
    DataType type);  // bytes of one partial sum: fp32 for 16- and 8-bit floats, else size_of
bool is_float(DataType type);
bool is_narrow_float(DataType type);  // 16- and 8-bit floats: summed in fp32
// nccl-tests' names: int8 uint8 int32 uint32 int64 uint64 half float double bfloat16 f8e4m3 f8e5m2
std::string_view name_of(DataType type);
std::optional<DataType> parse_data_type(std::string_view name);
// nccl-tests' names: sum prod max min avg mulsum
std::string_view name_of(ReduceKind kind);
std::optional<ReduceKind> parse_reduce_kind(std::string_view name);

}  // namespace strait
