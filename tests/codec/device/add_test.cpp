// Decoding and adding in one pass gives the bits of decoding and then adding on the host.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "codec/device/device_codec.hpp"
#include "codec/samples.hpp"
#include "exec/reduce.hpp"

namespace strait::codec {
namespace {

class DecodeAdd : public testing::TestWithParam<DataType> {};

TEST_P(DecodeAdd, IsDecodingAndThenAdding) {
  const DataType type = GetParam();
  const size_t count = 16384 + 700;
  const auto all = samples(type, count);
  const Arithmetic sum = make_arithmetic(type, ReduceKind::kSum, 1, nullptr);
  for (const char* own : {"normal", "every exponent", "not a number"})
    for (const Sample& before : all) {
      if (before.name != own) continue;
      for (Mode mode : {Mode::kRaw, Mode::kFast, Mode::kDense}) {
        std::vector<std::vector<std::byte>> chunks;
        for (const Sample& sample : all)
          chunks.push_back(host_encode(type, sample.bytes, {mode, false}));
        const auto added =
            device_decode(type, chunks, count, mode == Mode::kFast ? 0 : size_of(type),
                          {"strait_decode_add_"}, before.bytes);
        std::vector<uint8_t> expected(before.bytes.size());
        for (size_t i = 0; i < all.size(); ++i) {
          SCOPED_TRACE(all[i].name);
          combine(sum, {expected.data()}, {before.bytes.data()}, {all[i].bytes.data()}, true,
                  count);
          ASSERT_EQ(added[i].fault, 0u);
          ASSERT_EQ(added[i].values, expected);
        }
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Floats, DecodeAdd,
                         testing::Values(DataType::kBfloat16, DataType::kFloat16,
                                         DataType::kFloat32, DataType::kFloat64),
                         [](const auto& which) { return std::string(name_of(which.param)); });

// Decoding, adding and encoding again in one pass: as three passes on the host.
TEST(Relay, IsDecodingAddingAndEncoding) {
  const size_t count = 2 * 16384 + 700;
  for (DataType type : {DataType::kBfloat16, DataType::kFloat32}) {
    const auto all = samples(type, count);
    const Arithmetic sum = make_arithmetic(type, ReduceKind::kSum, 1, nullptr);
    const Sample& own = *std::ranges::find(all, "log-normal rows", &Sample::name);
    for (Mode mode : {Mode::kFast, Mode::kDense}) {
      std::vector<std::vector<std::byte>> chunks;
      for (const Sample& sample : all)
        chunks.push_back(host_encode(type, sample.bytes, {mode, false}));
      const auto relayed = device_relay(type, chunks, own.bytes, {mode, true});
      std::vector<uint8_t> sums(own.bytes.size());
      for (size_t i = 0; i < all.size(); ++i) {
        SCOPED_TRACE(all[i].name);
        combine(sum, {sums.data()}, {own.bytes.data()}, {all[i].bytes.data()}, true, count);
        ASSERT_EQ(relayed[i].fault, 0u);
        ASSERT_EQ(relayed[i].chunk, host_encode(type, sums, {mode, true}));
      }
    }
  }
}

TEST(Relay, DamageIsSeen) {
  const auto all = samples(DataType::kBfloat16, 16384 + 700);
  const Sample& own = *std::ranges::find(all, "normal", &Sample::name);
  for (Mode mode : {Mode::kFast, Mode::kDense}) {
    std::vector<std::vector<std::byte>> chunks;
    for (size_t at : {5, 16, 18, 33, 80, 2000}) {
      chunks.push_back(host_encode(DataType::kBfloat16, own.bytes, {mode, true}));
      chunks.back()[at] ^= std::byte{4};
    }
    for (const Relayed& relayed :
         device_relay(DataType::kBfloat16, chunks, own.bytes, {mode, true}))
      EXPECT_NE(relayed.fault, 0u);
  }
}

}  // namespace
}  // namespace strait::codec
