// The device's bytes are the host's, and its values are what was encoded.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "codec/device/device_codec.hpp"
#include "codec/samples.hpp"

namespace strait::codec {
namespace {

constexpr DataType kFloats[] = {DataType::kBfloat16, DataType::kFloat16,    DataType::kFloat32,
                                DataType::kFloat64,  DataType::kFloat8e4m3, DataType::kFloat8e5m2};

class SameBytes : public testing::TestWithParam<DataType> {};

TEST_P(SameBytes, EverySampleOverATileAndMore) {
  const DataType type = GetParam();
  const size_t count = 16384 + 3 * 512 + 5;
  std::vector<Array> arrays;
  const auto all = samples(type, count);
  for (const Sample& sample : all) arrays.push_back({sample.bytes});
  expect_same(type, arrays, {Mode::kFast, false});
  expect_same(type, arrays, {Mode::kDense, true});
}

INSTANTIATE_TEST_SUITE_P(Floats, SameBytes, testing::ValuesIn(kFloats),
                         [](const auto& which) { return std::string(name_of(which.param)); });

}  // namespace
}  // namespace strait::codec
