#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <numeric>
#include <random>

#include "perf/data/check.hpp"
#include "perf/data/exact_source.hpp"
#include "perf/data/number.hpp"
#include "perf/data/reference.hpp"

namespace strait::perf {
namespace {

using ::testing::HasSubstr;

std::vector<std::byte> input_of(const Source& source, const Problem& problem, int rank,
                                uint64_t count) {
  std::vector<std::byte> bytes(count * size_of(problem.type));
  source.fill(problem, rank, 0, count, bytes.data());
  return bytes;
}

std::vector<std::byte> reduced(const Source& source, const Problem& problem,
                               std::vector<int> domains, uint64_t count) {
  std::vector<std::byte> bytes(count * size_of(problem.type));
  Reference(source, std::move(domains), false).reduce(problem, 0, count, bytes.data());
  return bytes;
}

// By search: the representable neighbour nearest to the value, ties to the even pattern.
template <class T>
T nearest(float value) {
  T best{};
  double best_distance = INFINITY;
  for (int bits = 0; bits < (1 << T::kBits); ++bits) {
    const T candidate{static_cast<typename T::Bits>(bits)};
    const double wide = widen_by_definition(candidate);
    if (!std::isfinite(wide) || std::signbit(wide) != std::signbit(value)) continue;
    const double distance = std::fabs(wide - static_cast<double>(value));
    if (distance < best_distance || (distance == best_distance && bits % 2 == 0)) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

template <class T>
void expect_rounding_by_definition(float largest) {
  std::mt19937 random(11);
  for (int attempt = 0; attempt < 3000; ++attempt) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (!std::isfinite(value) || std::fabs(value) > largest) continue;
    ASSERT_EQ(round_to<T>(value).bits, nearest<T>(value).bits) << value;
  }
  std::uniform_real_distribution<float> around(-1, 1);
  for (int attempt = 0; attempt < 3000; ++attempt) {
    const float value = around(random) * std::ldexp(largest, -static_cast<int>(random() % 24));
    ASSERT_EQ(round_to<T>(value).bits, nearest<T>(value).bits) << value;
  }
}

TEST(Number, RoundsSmallFloatsToTheNearest) {
  expect_rounding_by_definition<Float8e4m3>(448.0f);
  expect_rounding_by_definition<Float8e5m2>(57344.0f);
}

template <class T>
void expect_round_trip() {
  for (int bits = 0; bits < (1 << T::kBits); ++bits) {
    const T value{static_cast<typename T::Bits>(bits)};
    if (std::isnan(widen(value))) continue;
    ASSERT_EQ(round_to<T>(widen(value)).bits, value.bits);
  }
}

TEST(Number, WideningAndRoundingGiveTheSameBack) {
  expect_round_trip<Bfloat16>();
  expect_round_trip<Half>();
  expect_round_trip<Float8e4m3>();
  expect_round_trip<Float8e5m2>();
}

TEST(Number, KnownValues) {
  EXPECT_EQ(round_to<Bfloat16>(1.0f).bits, 0x3f80);
  EXPECT_EQ(round_to<Bfloat16>(1.00390625f).bits, 0x3f80);  // halfway, down to even
  EXPECT_EQ(round_to<Bfloat16>(1.01171875f).bits, 0x3f82);  // halfway, up to even
  EXPECT_EQ(round_to<Half>(65504.0f).bits, 0x7bff);
  EXPECT_EQ(round_to<Half>(65520.0f).bits, 0x7c00);
  EXPECT_EQ(round_to<Half>(5.9604645e-8f).bits, 0x0001);
  EXPECT_EQ(widen(Float8e4m3{0x7e}), 448.0f);
  EXPECT_TRUE(std::isnan(widen(Float8e4m3{0x7f})));
  EXPECT_TRUE(std::isinf(widen(Float8e5m2{0x7c})));
}

class EveryTypeAndKind : public ::testing::TestWithParam<int> {
 protected:
  Problem problem(int ranks) const {
    return {static_cast<DataType>(GetParam() / kReduceKindCount),
            static_cast<ReduceKind>(GetParam() % kReduceKindCount), ranks};
  }
};

TEST_P(EveryTypeAndKind, ExactSourceGivesTheSameInAnyOrder) {
  constexpr uint64_t kCount = 5000;
  const ExactSource source;
  for (const int ranks : {1, 2, 3, 4, 7, 8, 24}) {
    const Problem given = problem(ranks);
    const Reference reference(source, std::vector<int>(static_cast<size_t>(ranks), 0), false);
    const auto flat =
        reduced(source, given, std::vector<int>(static_cast<size_t>(ranks), 0), kCount);
    std::vector<int> alternating(static_cast<size_t>(ranks)), alone(alternating);
    for (size_t rank = 0; rank < alternating.size(); ++rank) alternating[rank] = rank % 3 == 1;
    std::iota(alone.begin(), alone.end(), 0);
    std::reverse(alone.begin(), alone.end());
    for (const auto& domains : {alternating, alone}) {
      const auto other = reduced(source, given, domains, kCount);
      const Mismatch mismatch =
          check_result(reference, given, 0, kCount, other.data(), flat.data());
      ASSERT_EQ(mismatch.wrong, 0u) << ranks << " ranks: " << mismatch.first;
    }
  }
}

TEST_P(EveryTypeAndKind, ALostRankIsNoticed) {
  constexpr uint64_t kCount = 2000;
  const ExactSource source;
  const Problem given = problem(8);
  const auto whole = reduced(source, given, std::vector<int>(8, 0), kCount);
  // A source in which one rank holds what another does: as if the wrong buffer had been read.
  struct Confused : ExactSource {
    void fill(const Problem& p, int rank, uint64_t first, uint64_t count,
              std::byte* out) const override {
      ExactSource::fill(p, rank == 5 ? 4 : rank, first, count, out);
    }
  };
  const Confused confused;
  const auto other = reduced(confused, given, std::vector<int>(8, 0), kCount);
  const Reference reference(source, std::vector<int>(8, 0), false);
  EXPECT_GT(check_result(reference, given, 0, kCount, other.data(), whole.data()).wrong, 20u);
}

TEST_P(EveryTypeAndKind, PartsEqualTheWhole) {
  const ExactSource source;
  const Problem given = problem(5);
  const auto whole = input_of(source, given, 3, 1000);
  std::vector<std::byte> part(100 * size_of(given.type));
  source.fill(given, 3, 700, 100, part.data());
  EXPECT_EQ(std::memcmp(part.data(), whole.data() + 700 * size_of(given.type), part.size()), 0);
}

std::string case_name(const ::testing::TestParamInfo<int>& info) {
  return std::string(name_of(static_cast<DataType>(info.param / kReduceKindCount))) + "_" +
         std::string(name_of(static_cast<ReduceKind>(info.param % kReduceKindCount)));
}
INSTANTIATE_TEST_SUITE_P(Data, EveryTypeAndKind,
                         ::testing::Range(0, kDataTypeCount* kReduceKindCount), case_name);

TEST(Reference, AddsInTheDocumentedOrder) {
  // 1 + 2^-24 + 2^-24 in fp32 depends on the order: ascending it stays 1, by domains (0)(1 2) it
  // grows.
  struct Three : Source {
    void fill(const Problem&, int rank, uint64_t, uint64_t count, std::byte* out) const override {
      const float value = rank == 0 ? 1.0f : 0x1p-24f;
      for (uint64_t i = 0; i < count; ++i) std::memcpy(out + 4 * i, &value, 4);
    }
  };
  const Three source;
  const Problem problem{DataType::kFloat32, ReduceKind::kSum, 3};
  float flat = 0, racks = 0;
  std::memcpy(&flat, reduced(source, problem, {0, 0, 0}, 1).data(), 4);
  std::memcpy(&racks, reduced(source, problem, {0, 1, 1}, 1).data(), 4);
  EXPECT_EQ(flat, 1.0f);
  EXPECT_EQ(racks, 1.0f + 0x1p-23f);
}

TEST(Reference, KnowsWhatCanBeExact) {
  const auto normal = make_source("normal");
  const ExactSource exact;
  const Problem sum{DataType::kBfloat16, ReduceKind::kSum, 4};
  const Problem average{DataType::kBfloat16, ReduceKind::kAvg, 4};
  const Problem integers{DataType::kInt32, ReduceKind::kAvg, 4};
  const std::vector<int> domains(4, 0);
  EXPECT_EQ(Reference(exact, domains, true).match(sum), Match::kBits);
  EXPECT_EQ(Reference(exact, domains, true).match(average), Match::kTwoUlps);
  EXPECT_EQ(Reference(**normal, domains, false).match(sum), Match::kBits);
  EXPECT_EQ(Reference(**normal, domains, true).match(sum), Match::kAnyOrder);
  EXPECT_EQ(Reference(**normal, domains, false).match(average), Match::kAnyOrder);
  EXPECT_EQ(Reference(**normal, domains, true).match(integers), Match::kBits);
}

TEST(Check, ToleratesAnotherOrderButNoWrongValue) {
  const auto source = make_source("normal");
  const Problem problem{DataType::kBfloat16, ReduceKind::kSum, 8};
  const Reference reference(**source, std::vector<int>(8, 0), true);
  const auto expected = reduced(**source, problem, std::vector<int>(8, 0), 4000);
  auto other = reduced(**source, problem, {0, 0, 0, 0, 1, 1, 1, 1}, 4000);
  EXPECT_NE(std::memcmp(expected.data(), other.data(), expected.size()), 0);
  EXPECT_EQ(check_result(reference, problem, 0, 4000, other.data(), expected.data()).wrong, 0u);
  other[2 * 1234 + 1] ^= std::byte{0x80};
  const Mismatch mismatch =
      check_result(reference, problem, 0, 4000, other.data(), expected.data());
  EXPECT_EQ(mismatch.wrong, 1u);
  EXPECT_THAT(mismatch.first, HasSubstr("element 1234 of 4000"));
}

TEST(TensorSource, DealsRanksAndRepeats) {
  const std::string path = ::testing::TempDir() + "strait_ranks.safetensors";
  const std::string header = R"({"rank0/w":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},)"
                             R"("rank1/w":{"dtype":"U8","shape":[2],"data_offsets":[3,5]},)"
                             R"("rank1/v":{"dtype":"U8","shape":[2],"data_offsets":[5,7]}})";
  const uint64_t length = header.size();
  std::ofstream(path, std::ios::binary)
      << std::string(reinterpret_cast<const char*>(&length), 8) << header << "abcdefg";
  const auto source = make_source(path);
  ASSERT_TRUE(source.ok()) << source.status().message();
  const Problem problem{DataType::kUint8, ReduceKind::kSum, 4};
  const auto text = [&](int rank, uint64_t first, uint64_t count) {
    std::string out(count, '?');
    (*source)->fill(problem, rank, first, count, reinterpret_cast<std::byte*>(out.data()));
    return out;
  };
  EXPECT_EQ(text(0, 0, 7), "abcabca");
  EXPECT_EQ(text(1, 0, 6), "defgde");
  EXPECT_EQ(text(2, 2, 3), "cab");
  EXPECT_EQ(text(3, 5, 4), "efgd");
  EXPECT_TRUE((*source)->supports(DataType::kUint8).ok());
  EXPECT_THAT((*source)->supports(DataType::kBfloat16).message(), HasSubstr("it holds: uint8"));
}

}  // namespace
}  // namespace strait::perf
