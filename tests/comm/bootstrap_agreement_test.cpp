#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/agreement.hpp"
#include "comm/bootstrap_members.hpp"
#include "comm/bootstrap_wire.hpp"

namespace strait {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Hello hello_of(const char* host, int64_t pid) {
  return {.version = "0.1.0",
          .settings = {{"ALGO", "auto"}, {"SLOTS", "4"}},
          .host = host,
          .pid = pid,
          .payload = {}};
}

JoinRequest request(int rank, int rank_count, Hello hello) {
  return {.rank = rank, .rank_count = rank_count, .limit_ms = 100, .hello = std::move(hello)};
}

TEST(Agreement, EqualRanksAgree) {
  EXPECT_TRUE(check_agreement(0, hello_of("a", 1), 1, hello_of("b", 2)).ok());
}

TEST(Agreement, NamesBothRanksTheKeyAndBothValues) {
  Hello other = hello_of("b", 2);
  other.settings["SLOTS"] = "8";
  const Status status = check_agreement(0, hello_of("a", 1), 3, other);
  EXPECT_EQ(status.code(), Code::kInvalidUsage);
  EXPECT_THAT(
      status.message(),
      AllOf(HasSubstr("rank 0 (host a, process 1)"), HasSubstr("rank 3 (host b, process 2)"),
            HasSubstr("STRAIT_SLOTS is 4 and 8"), Not(HasSubstr("ALGO"))));
}

TEST(Agreement, SettingOnOneSideOnlyDiffers) {
  Hello other = hello_of("b", 2);
  other.settings.erase("ALGO");
  other.settings["NEW"] = "1";
  EXPECT_THAT(check_agreement(0, hello_of("a", 1), 1, other).message(),
              AllOf(HasSubstr("STRAIT_ALGO is auto and unknown"),
                    HasSubstr("STRAIT_NEW is unknown and 1")));
}

TEST(Agreement, VersionsComeBeforeSettings) {
  Hello other = hello_of("b", 2);
  other.version = "0.2.0";
  other.settings.clear();
  EXPECT_THAT(check_agreement(0, hello_of("a", 1), 1, other).message(),
              AllOf(HasSubstr("0.1.0 and 0.2.0"), Not(HasSubstr("ALGO"))));
}

TEST(Agreement, ListsOfRanksStayReadable) {
  EXPECT_EQ(list_ranks({3}, 8), "rank 3 of 8");
  EXPECT_EQ(list_ranks({3, 5}, 8), "ranks 3, 5 of 8");
  std::vector<int> many(100);
  for (int i = 0; i < 100; ++i) many[static_cast<size_t>(i)] = i;
  EXPECT_THAT(list_ranks(many, 128), HasSubstr("15 and 84 more of 128"));
}

TEST(BootstrapMembers, CompleteWhenAllAreThere) {
  BootstrapMembers members;
  for (int rank : {2, 0, 1}) {
    EXPECT_FALSE(members.complete());
    ASSERT_TRUE(members.join(request(rank, 3, hello_of("a", rank))).ok());
  }
  EXPECT_TRUE(members.complete());
}

TEST(BootstrapMembers, TwinIsNamedWithBothPlaces) {
  BootstrapMembers members;
  ASSERT_TRUE(members.join(request(2, 4, hello_of("a", 11))).ok());
  EXPECT_THAT(members.join(request(2, 4, hello_of("b", 12))).message(),
              AllOf(HasSubstr("rank 2 joined twice"), HasSubstr("host a (process 11)"),
                    HasSubstr("host b (process 12)")));
}

TEST(BootstrapMembers, RankCountsMustBeEqual) {
  BootstrapMembers members;
  ASSERT_TRUE(members.join(request(1, 4, hello_of("a", 11))).ok());
  EXPECT_THAT(members.join(request(2, 8, hello_of("b", 12))).message(),
              AllOf(HasSubstr("rank 2 (host b, process 12) was given 8 ranks"),
                    HasSubstr("rank 1 (host a, process 11) was given 4")));
}

TEST(BootstrapMembers, RankOutOfRange) {
  BootstrapMembers members;
  EXPECT_FALSE(members.join(request(4, 4, hello_of("a", 1))).ok());
  EXPECT_FALSE(members.join(request(-1, 4, hello_of("a", 1))).ok());
  EXPECT_FALSE(members.join(request(0, 0, hello_of("a", 1))).ok());
}

TEST(BootstrapMembers, MissingAndSilentRanksAreListed) {
  BootstrapMembers members;
  for (int rank : {0, 1, 2, 4}) ASSERT_TRUE(members.join(request(rank, 6, hello_of("a", 1))).ok());
  EXPECT_THAT(members.missing(500).message(),
              HasSubstr("ranks 3, 5 of 6 did not arrive within 500 ms"));
  for (int rank : {3, 5}) ASSERT_TRUE(members.join(request(rank, 6, hello_of("a", 1))).ok());
  for (int rank : {0, 1, 3, 4, 5}) EXPECT_TRUE(members.speak(rank, {}));
  EXPECT_FALSE(members.speak(0, {}));
  EXPECT_THAT(members.silent(500).message(), HasSubstr("rank 2 of 6 did not come to round 1"));
}

TEST(BootstrapWire, TruncatedBytesNeverReadPastTheEnd) {
  Packer packer;
  const auto bytes = packer.hello(hello_of("somewhere", 17)).take();
  for (size_t length = 0; length < bytes.size(); ++length) {
    Unpacker reader{std::span(bytes).first(length)};
    reader.hello();
    EXPECT_FALSE(reader.ok()) << length;
  }
  Unpacker whole(bytes);
  EXPECT_EQ(whole.hello(), hello_of("somewhere", 17));
  EXPECT_TRUE(whole.ok());
}

TEST(BootstrapWire, LengthBeyondTheEndIsRefused) {
  Packer packer;
  const auto bytes = packer.number<uint64_t>(~uint64_t{0}).take();
  Unpacker reader(bytes);
  EXPECT_TRUE(reader.bytes().empty());
  EXPECT_FALSE(reader.ok());
}

TEST(BootstrapWire, StatusKeepsCodeAndMessage) {
  Packer packer;
  const auto bytes = packer.status(error(Code::kCudaError, "no device")).take();
  const Status status = Unpacker(bytes).status();
  EXPECT_EQ(status.code(), Code::kCudaError);
  EXPECT_EQ(status.message(), "no device");
  EXPECT_FALSE(Unpacker({}).status().ok());
}

}  // namespace
}  // namespace strait
