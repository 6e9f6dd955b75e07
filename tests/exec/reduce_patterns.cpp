// Bit patterns in full: all 256 x 256 pairs of each fp8 format, every 16-bit pattern against many
// partners, and every narrow pattern widened and every kind of fp32 rounded, on every target.
#include <gtest/gtest.h>

#include "exec/reduce/kernel.hpp"
#include "exec/reduce_reference.hpp"
#include "exec/reduce_values.hpp"

namespace strait {
namespace {

using reference::Case;

constexpr DataType kNarrowFloats[] = {DataType::kFloat16, DataType::kBfloat16,
                                      DataType::kFloat8e4m3, DataType::kFloat8e5m2};

// Compares out = first op second, all narrow, for patterns that lie ready in two arrays.
void expect_patterns(DataType type, ReduceKind kind, const std::vector<char>& first,
                     const std::vector<char>& second) {
  Case c;
  c.arithmetic = {.type = type, .kind = kind};
  const size_t bytes = size_of(type);
  const size_t count = first.size() / bytes;
  std::vector<char> out(first.size());
  for (const reduce::Target* target : reduce::targets_here()) {
    reduce::combine_on(*target, c.arithmetic, {out.data()}, {first.data()}, {second.data()}, true,
                       count);
    for (size_t i = 0; i < count; ++i) {
      const uint64_t a = reference::get(first.data(), bytes, i);
      const uint64_t b = reference::get(second.data(), bytes, i);
      ASSERT_EQ(reference::get(out.data(), bytes, i), reference::combine(c, a, b))
          << name_of(type) << " " << name_of(kind) << " " << target->name << std::hex << " " << a
          << " " << b;
    }
  }
}

TEST(ReducePatterns, EveryPairOfFloat8) {
  std::vector<char> first(65536);
  std::vector<char> second(65536);
  for (size_t i = 0; i < 65536; ++i) {
    first[i] = static_cast<char>(i / 256);
    second[i] = static_cast<char>(i % 256);
  }
  for (const DataType type : {DataType::kFloat8e4m3, DataType::kFloat8e5m2})
    for (const ReduceKind kind :
         {ReduceKind::kSum, ReduceKind::kProd, ReduceKind::kMax, ReduceKind::kMin})
      expect_patterns(type, kind, first, second);
}

TEST(ReducePatterns, Every16BitPatternMeetsManyOthers) {
  std::mt19937_64 random(3);
  std::vector<char> first(2 * 65536);
  std::vector<char> second(2 * 65536);
  for (size_t i = 0; i < 65536; ++i) reference::put(first.data(), 2, i, i);
  for (const DataType type : {DataType::kFloat16, DataType::kBfloat16})
    for (int round = 0; round < 3; ++round) {
      reference::fill(second, 2, random);
      // One round near the first operand, where sums tie and cancel.
      if (round == 1)
        for (size_t i = 0; i < 65536; ++i)
          reference::put(second.data(), 2, i, i ^ 0x8000 ^ (random() % 2048));
      for (const ReduceKind kind :
           {ReduceKind::kSum, ReduceKind::kProd, ReduceKind::kMax, ReduceKind::kMin})
        expect_patterns(type, kind, first, second);
    }
}

TEST(ReducePatterns, WideningIsExactForEveryPattern) {
  for (const DataType type : kNarrowFloats) {
    const size_t bytes = size_of(type);
    const size_t count = size_t{1} << (8 * bytes);
    std::vector<char> narrow(count * bytes);
    for (size_t i = 0; i < count; ++i) reference::put(narrow.data(), bytes, i, i);
    Case c;
    c.arithmetic.type = type;
    c.out = Form::kWide;
    c.has_second = false;
    std::vector<float> wide(count);
    for (const reduce::Target* target : reduce::targets_here()) {
      reduce::combine_on(*target, c.arithmetic, {wide.data(), Form::kWide}, {narrow.data()}, {},
                         false, count);
      for (size_t i = 0; i < count; ++i)
        ASSERT_EQ(reference::get(wide.data(), 4, i), reference::combine(c, i, 0))
            << name_of(type) << " " << target->name << " " << i;
    }
  }
}

TEST(ReducePatterns, NarrowingRoundsToNearestEvenOverTheWholeRange) {
  // Every exponent with mantissas on, just below and just above each half-way point of every
  // format, and random ones.
  std::mt19937_64 random(5);
  std::vector<uint32_t> wide;
  for (uint32_t top = 0; top < 512; ++top) {
    for (const uint32_t bit : {12, 13, 15, 16, 19, 20, 21, 22})
      for (const uint32_t low : {0u, 1u, (1u << bit) - 1, 1u << bit, (1u << bit) + 1})
        wide.push_back(top << 23 |
                       ((static_cast<uint32_t>(random()) << bit << 1 | low) & 0x7fffff));
    for (int i = 0; i < 40; ++i)
      wide.push_back(top << 23 | (static_cast<uint32_t>(random()) & 0x7fffff));
  }
  for (const DataType type : kNarrowFloats) {
    const size_t bytes = size_of(type);
    Case c;
    c.arithmetic.type = type;
    c.first_form = Form::kWide;
    c.has_second = false;
    std::vector<char> narrow(wide.size() * bytes);
    for (const reduce::Target* target : reduce::targets_here()) {
      reduce::combine_on(*target, c.arithmetic, {narrow.data()}, {wide.data(), Form::kWide}, {},
                         true, wide.size());
      for (size_t i = 0; i < wide.size(); ++i)
        ASSERT_EQ(reference::get(narrow.data(), bytes, i), reference::combine(c, wide[i], 0))
            << name_of(type) << " " << target->name << std::hex << " " << wide[i];
    }
  }
}

// Spelled out, so that the reference is not the only witness.
TEST(ReducePatterns, KnownResults) {
  const auto one = [](DataType type, ReduceKind kind, uint64_t a, uint64_t b) {
    uint64_t out = 0;
    combine({.type = type, .kind = kind}, {&out}, {&a}, {&b}, true, 1);
    return out;
  };
  using enum DataType;
  using enum ReduceKind;
  EXPECT_EQ(one(kBfloat16, kSum, 0x3f80, 0x3f80), 0x4000u);  // 1 + 1
  EXPECT_EQ(one(kBfloat16, kSum, 0x3f80, 0x3b80), 0x3f80u);  // 1 + 2^-8 ties to the even 1
  EXPECT_EQ(one(kBfloat16, kSum, 0x3f81, 0x3b80), 0x3f82u);  // the tie above it goes up
  EXPECT_EQ(one(kBfloat16, kSum, 0x7f7f, 0x7f7f), 0x7f80u);  // overflow is infinity
  EXPECT_EQ(one(kBfloat16, kSum, 0x7f80, 0xff80), 0x7fffu);  // infinity - infinity
  EXPECT_EQ(one(kBfloat16, kSum, 0xff81, 0x3f80), 0x7fffu);  // a NaN, whichever it was
  EXPECT_EQ(one(kFloat16, kSum, 0x7bff, 0x4c00), 0x7c00u);   // 65504 + 16
  EXPECT_EQ(one(kFloat16, kSum, 0x0001, 0x0001), 0x0002u);   // subnormal numbers are kept
  EXPECT_EQ(one(kFloat8e4m3, kSum, 0x7e, 0x7e), 0x7eu);      // 448 + 448 saturates
  EXPECT_EQ(one(kFloat8e5m2, kSum, 0x7b, 0x7b), 0x7bu);      // 57344 + 57344 saturates
  EXPECT_EQ(one(kFloat8e5m2, kSum, 0x7c, 0x3c), 0x7bu);      // and so does infinity + 1
  EXPECT_EQ(one(kFloat8e4m3, kProd, 0xff, 0x38), 0x7fu);     // NaN
  EXPECT_EQ(one(kFloat32, kMax, 0x7fc00000, 0xc0000000), 0xc0000000u);  // a number wins over NaN
  EXPECT_EQ(one(kFloat32, kMax, 0x80000000, 0x00000000), 0x00000000u);  // +0 is above -0
  EXPECT_EQ(one(kFloat32, kMin, 0x00000000, 0x80000000), 0x80000000u);
  EXPECT_EQ(one(kInt8, kSum, 0x7f, 0x01), 0x80u);  // integers wrap around
  EXPECT_EQ(one(kInt8, kMax, 0x80, 0x01), 0x01u);
  EXPECT_EQ(one(kUint8, kMax, 0x80, 0x01), 0x80u);
  EXPECT_EQ(one(kUint64, kProd, 0x8000000000000001, 2), 2u);
}

TEST(ReducePatterns, AveragesOfIntegersRoundTowardsZero) {
  const Arithmetic arithmetic = make_arithmetic(DataType::kInt32, ReduceKind::kAvg, 4, nullptr);
  const int32_t first[] = {-7, 7, -3, 3, INT32_MIN, INT32_MAX};
  const int32_t second[] = {0, 0, 0, 0, 0, 0};
  int32_t out[6];
  combine(arithmetic, {out}, {first}, {second}, true, 6);
  EXPECT_EQ(std::vector<int32_t>(out, out + 6),
            (std::vector<int32_t>{-1, 1, 0, 0, -536870912, 536870911}));
  combine(arithmetic, {out}, {first}, {second}, false, 6);
  EXPECT_EQ(std::vector<int32_t>(out, out + 6), std::vector<int32_t>(first, first + 6));
}

TEST(ReducePatterns, DivisorsOfEverySizeAreExact) {
  std::mt19937_64 random(11);
  for (const DataType type : {DataType::kInt8, DataType::kUint8, DataType::kInt32,
                              DataType::kUint32, DataType::kInt64, DataType::kUint64}) {
    const size_t bytes = size_of(type);
    for (const uint64_t divisor : {2ull, 3ull, 7ull, 128ull, 200ull, 72ull, 100000ull,
                                   2147483647ull, 4294967296ull, 9223372036854775808ull, ~0ull}) {
      std::vector<char> values(3000 * bytes);
      reference::fill(values, bytes, random);
      std::vector<char> out(values.size());
      Case c;
      c.arithmetic = {.type = type, .kind = ReduceKind::kAvg, .divisor = divisor};
      c.has_second = false;
      c.finish = true;
      combine(c.arithmetic, {out.data()}, {values.data()}, {}, true, 3000);
      for (size_t i = 0; i < 3000; ++i)
        ASSERT_EQ(reference::get(out.data(), bytes, i),
                  reference::combine(c, reference::get(values.data(), bytes, i), 0))
            << name_of(type) << " / " << divisor;
    }
  }
}

}  // namespace
}  // namespace strait
