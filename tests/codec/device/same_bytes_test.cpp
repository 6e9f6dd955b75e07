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
  const auto all = samples(type, 16384 + 3 * 512 + 5);
  std::vector<Array> arrays;
  for (const Sample& sample : all) arrays.push_back({sample.bytes});
  expect_same(type, arrays, {Mode::kFast, false});
  expect_same(type, arrays, {Mode::kDense, true});
}

TEST_P(SameBytes, EverySampleAtManyLengths) {
  const DataType type = GetParam();
  const auto all = samples(type, 1537);
  std::vector<Array> arrays;
  for (size_t count : {0, 1, 2, 3, 31, 63, 64, 65, 127, 129, 511, 512, 513, 1023, 1025, 1537})
    for (const Sample& sample : all)
      arrays.push_back({std::span(sample.bytes).first(count * size_of(type))});
  expect_same(type, arrays, {Mode::kFast, true});
  expect_same(type, arrays, {Mode::kDense, false});
}

TEST_P(SameBytes, LengthsAroundTheEndsOfTiles) {
  const DataType type = GetParam();
  for (const Sample& sample : samples(type, 3 * 16384)) {
    if (sample.name != "log-normal rows" && sample.name != "every exponent") continue;
    std::vector<Array> arrays;
    for (size_t count :
         {16383, 16384, 16385, 16384 + 511, 2 * 16384, 2 * 16384 + 1, 3 * 16384 - 512})
      arrays.push_back({std::span(sample.bytes).first(count * size_of(type))});
    expect_same(type, arrays, {Mode::kFast, false});
    expect_same(type, arrays, {Mode::kDense, false});
  }
}

TEST_P(SameBytes, ValuesAtAnyAddress) {
  const DataType type = GetParam();
  const auto all = samples(type, 1100);
  std::vector<Array> arrays;
  for (size_t offset : {1, 2, 3, 4, 7, 8, 12})
    for (const Sample& sample : all) arrays.push_back({sample.bytes, offset});
  expect_same(type, arrays, {Mode::kDense, true});
}

TEST_P(SameBytes, EveryPatternOfNarrowTypes) {
  const DataType type = GetParam();
  if (size_of(type) > 2) GTEST_SKIP() << "wider types are covered by exponents x mantissas";
  const size_t total = size_t{1} << (8 * size_of(type));
  std::vector<uint64_t> patterns;
  for (size_t i = 0; i < std::max<size_t>(total, 4096); ++i) patterns.push_back(i % total);
  std::mt19937_64 random(3);
  for (int order = 0; order < 2; ++order) {
    std::vector<uint8_t> bytes;
    for (uint64_t pattern : patterns) append_value(bytes, type, pattern);
    const Array arrays[] = {{bytes}};
    expect_same(type, arrays, {Mode::kFast, true});
    expect_same(type, arrays, {Mode::kDense, true});
    std::shuffle(patterns.begin(), patterns.end(), random);
  }
}

TEST_P(SameBytes, EveryExponentWithRandomMantissas) {
  const DataType type = GetParam();
  const size_t bits = 8 * size_of(type), top_bits = std::min<size_t>(bits, 16);
  std::mt19937_64 random(4);
  std::vector<uint8_t> bytes;
  for (uint64_t top = 0; top < (uint64_t{1} << top_bits); ++top) {
    const uint64_t below = bits > top_bits ? random() >> (64 - (bits - top_bits)) : 0;
    append_value(bytes, type, top << (bits - top_bits) | below);
  }
  const Array arrays[] = {{bytes}};
  expect_same(type, arrays, {Mode::kFast, true});
  expect_same(type, arrays, {Mode::kDense, true});
}

INSTANTIATE_TEST_SUITE_P(Floats, SameBytes, testing::ValuesIn(kFloats),
                         [](const auto& which) { return std::string(name_of(which.param)); });

TEST(SameBytes, IntegersGoRawOrAsZeros) {
  for (int t = 0; t < kDataTypeCount; ++t) {
    const auto type = static_cast<DataType>(t);
    if (is_float(type)) continue;
    const auto all = samples(type, 1000);
    std::vector<Array> arrays;
    for (const Sample& sample : all) arrays.push_back({sample.bytes});
    expect_same(type, arrays, {Mode::kDense, true});
  }
}

TEST(SameBytes, RawModeNeverCodes) {
  const std::vector<uint8_t> zeros(4096), ones(4096, 1);
  const Array arrays[] = {{zeros}, {ones}, {}};
  expect_same(DataType::kBfloat16, arrays, {Mode::kRaw, true});
}

TEST(SameBytes, ChunksOfZerosAreHeaders) {
  const std::vector<uint8_t> zeros(100'000);
  const Array arrays[] = {{zeros}};
  for (DataType type : kFloats) expect_same(type, arrays, {Mode::kFast, true});
}

// The same bytes whatever the team: one warp, or five.
TEST(SameBytes, TeamsDoNotMatter) {
  for (DataType type : {DataType::kBfloat16, DataType::kFloat32})
    for (const char* warps : {"1", "5"}) {
      const std::string encoder = std::string("encode_by_") + warps + "_";
      const std::string decoder = std::string("decode_by_") + warps + "_";
      const size_t count = 16384 + 1111;
      const auto all = samples(type, count);
      std::vector<Array> arrays;
      for (const Sample& sample : all) arrays.push_back({sample.bytes});
      for (Mode mode : {Mode::kFast, Mode::kDense}) {
        const auto chunks = device_encode(type, arrays, {mode, true},
                                          {encoder + (mode == Mode::kDense ? "dense_" : "fast_")});
        const auto decoded = device_decode(type, chunks, count, 0, {decoder});
        for (size_t i = 0; i < all.size(); ++i) {
          SCOPED_TRACE(encoder + all[i].name);
          ASSERT_EQ(chunks[i], host_encode(type, all[i].bytes, {mode, true}));
          ASSERT_EQ(decoded[i].fault, 0u);
          ASSERT_EQ(decoded[i].values, all[i].bytes);
        }
      }
    }
}

// What is right only in one order of threads is a race.
TEST(SameBytes, TheOrderOfThreadsDoesNotMatter) {
  for (DataType type : {DataType::kBfloat16, DataType::kFloat32}) {
    const size_t count = 16384 + 1111;
    const auto all = samples(type, count);
    std::vector<Array> arrays;
    for (const Sample& sample : all) arrays.push_back({sample.bytes});
    for (uint64_t seed : {1, 2}) {
      const auto chunks =
          device_encode(type, arrays, {Mode::kDense, true}, {"strait_encode_dense_", seed});
      const auto decoded = device_decode(type, chunks, count, 0, {"strait_decode_", seed});
      for (size_t i = 0; i < all.size(); ++i) {
        SCOPED_TRACE(all[i].name);
        ASSERT_EQ(chunks[i], host_encode(type, all[i].bytes, {Mode::kDense, true}));
        ASSERT_EQ(decoded[i].fault, 0u);
        ASSERT_EQ(decoded[i].values, all[i].bytes);
      }
    }
  }
}

}  // namespace
}  // namespace strait::codec
