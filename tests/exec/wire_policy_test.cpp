// What auto chooses, on links and values made up for it.

#include "exec/wire_policy.hpp"

#include <gtest/gtest.h>

namespace strait {
namespace {

using codec::Mode;

constexpr DataType kType = DataType::kBfloat16;
constexpr size_t kChunk = 64 << 10;

// Values of which a mode leaves a part, on a processor that encodes so fast.
struct Situation {
  double raw_gbs = 10;
  double fast_gbs = 5;
  double dense_gbs = 2;
  double fast_ratio = 0.66;
  double dense_ratio = 0.62;
};

void encode(WirePolicy& policy, const Situation& situation, DataType type, Mode mode) {
  const double gbs = mode == Mode::kRaw    ? situation.raw_gbs
                     : mode == Mode::kFast ? situation.fast_gbs
                                           : situation.dense_gbs;
  const double ratio = mode == Mode::kRaw    ? 1.0
                       : mode == Mode::kFast ? situation.fast_ratio
                                             : situation.dense_ratio;
  policy.encoded(type, mode, kChunk, static_cast<size_t>(kChunk * ratio) + 16,
                 static_cast<int64_t>(kChunk / gbs));
}

// Sends chunks until the choice has settled, and returns it.
Mode settle(WirePolicy& policy, const Situation& situation, LinkRate rate, int chunks = 200,
            DataType type = kType) {
  Mode mode = Mode::kRaw;
  for (int i = 0; i < chunks; ++i) {
    if (policy.wants_rate()) policy.link_carries(rate);
    mode = policy.choose(type);
    if (const auto probe = policy.probe(type)) encode(policy, situation, type, *probe);
    encode(policy, situation, type, mode);
  }
  return mode;
}

LinkRate carries(double gbs) {
  return {.bytes_per_second = gbs * 1e9, .known = true};
}
LinkRate at_least(double gbs) {
  return {.bytes_per_second = gbs * 1e9, .known = false};
}

TEST(WirePolicy, ANarrowLinkTakesTheSmallestChunks) {
  WirePolicy policy;
  EXPECT_EQ(settle(policy, {}, carries(0.25)), Mode::kDense);
}

TEST(WirePolicy, AWiderLinkTakesWhatTheProcessorCanKeepUpWith) {
  WirePolicy policy;
  EXPECT_EQ(settle(policy, {}, carries(1.5)), Mode::kFast);
}

TEST(WirePolicy, ALinkFasterThanTheCodecTakesRaw) {
  WirePolicy policy;
  EXPECT_EQ(settle(policy, {}, carries(12)), Mode::kRaw);
}

TEST(WirePolicy, ALinkThatNothingIsKnownOfTakesFast) {
  WirePolicy policy;
  EXPECT_EQ(settle(policy, {}, {}), Mode::kFast);
}

TEST(WirePolicy, ALeastRateIsNoReasonToCompressMore) {
  WirePolicy policy;
  EXPECT_EQ(settle(policy, {}, at_least(0.01)), Mode::kFast);
}

TEST(WirePolicy, ALinkThatCarriesMoreThanTheCodecMakesTakesRawEvenIfThatIsAllThatIsKnown) {
  WirePolicy policy;
  EXPECT_EQ(settle(policy, {}, at_least(8)), Mode::kRaw);
}

TEST(WirePolicy, ValuesThatDoNotShrinkTravelRaw) {
  WirePolicy policy;
  EXPECT_EQ(settle(policy, {.fast_ratio = 1, .dense_ratio = 1}, carries(2)), Mode::kRaw);
}

TEST(WirePolicy, ValuesThatShrinkAgainAreNoticed) {
  WirePolicy policy;
  ASSERT_EQ(settle(policy, {.fast_ratio = 1, .dense_ratio = 1}, carries(2)), Mode::kRaw);
  EXPECT_EQ(settle(policy, {}, carries(2), 4000), Mode::kFast);
}

TEST(WirePolicy, ASlowDenseIsGivenUpAfterItWasMeasured) {
  WirePolicy policy;
  EXPECT_EQ(settle(policy, {.dense_gbs = 0.1}, carries(0.8)), Mode::kFast);
}

TEST(WirePolicy, AKnownLinkIsBelievedUntilMoreIsSeen) {
  WirePolicy policy;
  ASSERT_EQ(settle(policy, {}, carries(0.25)), Mode::kDense);
  EXPECT_EQ(settle(policy, {}, at_least(0.1)), Mode::kDense);
  EXPECT_EQ(settle(policy, {}, at_least(12)), Mode::kRaw);
}

TEST(WirePolicy, TypesAreJudgedApart) {
  WirePolicy policy;
  const Situation hard{.fast_ratio = 1, .dense_ratio = 1};
  EXPECT_EQ(settle(policy, hard, carries(1.5), 200, DataType::kFloat64), Mode::kRaw);
  EXPECT_EQ(settle(policy, {}, carries(1.5), 200, DataType::kBfloat16), Mode::kFast);
}

TEST(WirePolicy, OneMomentWithoutTheProcessorChangesNothing) {
  WirePolicy policy;
  ASSERT_EQ(settle(policy, {}, carries(1.5)), Mode::kFast);
  policy.encoded(kType, Mode::kFast, kChunk, kChunk / 2, 10'000'000);
  EXPECT_EQ(policy.choose(kType), Mode::kFast);
}

// Costs within a fiftieth of each other: whichever it is, it stays.
TEST(WirePolicy, DoesNotSwingBetweenEquals) {
  WirePolicy policy;
  const Situation even{.fast_ratio = 0.66, .dense_ratio = 0.655};
  settle(policy, even, carries(0.5), 1000);
  policy.take_change(kType);
  int changes = 0;
  for (int i = 0; i < 1000; ++i) {
    settle(policy, even, carries(i % 2 == 0 ? 0.5 : 0.52), 1);
    changes += policy.take_change(kType).empty() ? 0 : 1;
  }
  EXPECT_EQ(changes, 0);
}

TEST(WirePolicy, TellsOfAChangeOnceAndWhy) {
  WirePolicy policy;
  settle(policy, {}, carries(0.25));
  const std::string change = policy.take_change(kType);
  EXPECT_NE(change.find("dense instead of fast"), std::string::npos) << change;
  EXPECT_NE(change.find("0.25 GB/s"), std::string::npos) << change;
  EXPECT_TRUE(policy.take_change(kType).empty());
}

}  // namespace
}  // namespace strait
