// Tables of the user: what is refused, that a fitting one is chosen and saves, and what a rank says
// that lacks it. Tables stay for the process, so the one here suits nothing that other tests code.
#include "codec/user_tables.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "codec/codec.hpp"
#include "codec/dispatch.hpp"

namespace strait::codec {
namespace {

using testing::HasSubstr;

// Every second value is 2^-12 of its neighbours: exponents that only two codes are worth having
// for.
constexpr ExponentCode kTwoScales = {6, {1, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 3, 3, 0}, 0, 8};

std::vector<uint16_t> two_scales(size_t count) {
  std::mt19937 random(3);
  std::vector<uint16_t> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] =
        static_cast<uint16_t>((random() & 0x807F) | (i % 2 == 0 ? 120u : 109u - i / 2 % 2) << 7);
  return values;
}

std::vector<std::byte> encoded(const std::vector<uint16_t>& values) {
  std::vector<std::byte> chunk(bound(DataType::kBfloat16, values.size()));
  chunk.resize(
      encode(DataType::kBfloat16, values.data(), values.size(), chunk, {Mode::kDense, false}));
  return chunk;
}

TEST(UserTables, RefusesWhatIsNoTable) {
  const auto message = [](uint32_t number, const ExponentCode& lengths) {
    return install_table(number, lengths).message();
  };
  EXPECT_THAT(message(47, kTwoScales), HasSubstr("48 to 63"));
  EXPECT_THAT(message(64, kTwoScales), HasSubstr("48 to 63"));
  EXPECT_THAT(message(48, {6, {1, 1}, 0, 0}), HasSubstr("no code for the escape"));
  EXPECT_THAT(message(48, {6, {1, 2}, 0, 3}), HasSubstr("not complete"));
  EXPECT_THAT(message(48, {6, {1, 1}, 0, 1}), HasSubstr("not complete"));
  EXPECT_THAT(message(48, {6, {1, 2, 3, 4, 5, 6, 7, 9}, 0, 9}), HasSubstr("eight bits"));
  EXPECT_THAT(message(48, {6, {2, 2, 2, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6}, 5, 4}),
              HasSubstr("an eighth"));
  EXPECT_THAT(message(48, {99, {1}, 0, 1}), HasSubstr("too far"));
}

TEST(UserTables, AreChosenWhereTheyAreCheaper) {
  const size_t count = 40000;
  const std::vector<uint16_t> values = two_scales(count);
  const size_t without = encoded(values).size();
  ASSERT_TRUE(install_table(50, kTwoScales).ok());
  EXPECT_TRUE(install_table(50, kTwoScales).ok()) << "the same again is no error";
  EXPECT_THAT(install_table(50, {6, {1}, 0, 1}).message(), HasSubstr("another one is installed"));
  const std::vector<std::byte> chunk = encoded(values);
  EXPECT_LT(chunk.size() + count / 5, without) << "two bits a value less";
  for (const Kernels* kernels : available_kernels()) {
    ASSERT_TRUE(force_kernels(kernels->name));
    EXPECT_EQ(encoded(values), chunk) << kernels->name;
    std::vector<uint16_t> back(count);
    EXPECT_TRUE(decode(chunk, DataType::kBfloat16, count, back.data()).ok()) << kernels->name;
    EXPECT_EQ(back, values) << kernels->name;
  }
  ASSERT_TRUE(force_kernels(""));
}

TEST(UserTables, ThatAreMissingAreNamed) {
  ASSERT_TRUE(install_table(50, kTwoScales).ok());
  const std::vector<uint16_t> values = two_scales(512);
  std::vector<std::byte> chunk = encoded(values);
  constexpr size_t kKindAt = kChunkOverhead + 16 + 1;  // behind the table of tiles and a top
  ASSERT_EQ(chunk[kKindAt], std::byte{1 << 6 | 50});
  chunk[kKindAt] = std::byte{1 << 6 | 63};
  std::vector<uint16_t> back(512);
  const Status status = decode(chunk, DataType::kBfloat16, 512, back.data());
  EXPECT_EQ(status.code(), Code::kInvalidUsage);
  EXPECT_THAT(status.message(), HasSubstr("install the same tables on all ranks"));
}

}  // namespace
}  // namespace strait::codec
