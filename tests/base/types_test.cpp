#include "base/types.hpp"

#include <gtest/gtest.h>

namespace strait {
namespace {

TEST(DataType, NamesAndNumbersGoBothWays) {
  for (int i = 0; i < kDataTypeCount; ++i) {
    const auto type = static_cast<DataType>(i);
    EXPECT_EQ(parse_data_type(name_of(type)), type);
  }
  EXPECT_EQ(parse_data_type("bfloat"), std::nullopt);
  EXPECT_EQ(parse_data_type(""), std::nullopt);
}

TEST(DataType, SizesAreThoseOfTheFormats) {
  EXPECT_EQ(size_of(DataType::kFloat8e4m3), 1u);
  EXPECT_EQ(size_of(DataType::kBfloat16), 2u);
  EXPECT_EQ(size_of(DataType::kFloat32), 4u);
  EXPECT_EQ(size_of(DataType::kUint64), 8u);
}

TEST(DataType, NarrowFloatsAreSummedInFourBytes) {
  EXPECT_EQ(accumulator_size(DataType::kBfloat16), 4u);
  EXPECT_EQ(accumulator_size(DataType::kFloat8e5m2), 4u);
  EXPECT_EQ(accumulator_size(DataType::kInt8), 1u);
  EXPECT_EQ(accumulator_size(DataType::kFloat64), 8u);
  EXPECT_FALSE(is_narrow_float(DataType::kFloat32));
  EXPECT_FALSE(is_narrow_float(DataType::kUint8));
}

TEST(ReduceKind, NamesGoBothWays) {
  for (int i = 0; i < kReduceKindCount; ++i) {
    const auto kind = static_cast<ReduceKind>(i);
    EXPECT_EQ(parse_reduce_kind(name_of(kind)), kind);
  }
  EXPECT_EQ(parse_reduce_kind("add"), std::nullopt);
}

}  // namespace
}  // namespace strait
