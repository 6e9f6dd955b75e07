#include "comm/unique_id.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace strait {
namespace {

using ::testing::HasSubstr;

std::vector<net::Address> two_addresses() {
  return {*net::Address::parse("10.1.2.3:4711"), *net::Address::parse("[fd00::2]:4711")};
}

TEST(UniqueId, SurvivesItsBytes) {
  const UniqueId id = UniqueId::random(two_addresses());
  const auto parsed = UniqueId::parse(id.bytes());
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(*parsed, id);
  EXPECT_EQ(parsed->root_key(), id.root_key());
}

TEST(UniqueId, EachIsItsOwn) {
  const UniqueId a = UniqueId::random(two_addresses());
  const UniqueId b = UniqueId::random(two_addresses());
  EXPECT_NE(a.secret, b.secret);
  EXPECT_NE(a.root_key(), b.root_key());
}

TEST(UniqueId, KeepsTheFirstFourOfManyAddresses) {
  std::vector<net::Address> many;
  for (int i = 1; i <= 9; ++i) many.push_back(*net::Address::parse(fmt::format("10.0.0.{}:99", i)));
  const auto parsed = UniqueId::parse(UniqueId::random(many).bytes());
  ASSERT_TRUE(parsed.ok());
  ASSERT_EQ(parsed->addresses.size(), UniqueId::kAddressesMax);
  EXPECT_EQ(parsed->addresses.front().text(), "10.0.0.1:99");
}

TEST(UniqueId, OfAnotherLibraryIsRefused) {
  UniqueId::Bytes foreign{};
  for (size_t i = 0; i < foreign.size(); ++i) foreign[i] = std::byte(i * 37);
  const auto parsed = UniqueId::parse(foreign);
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(parsed.status().message(), HasSubstr("not made by this library"));
}

TEST(UniqueId, AnyDamagedByteIsNoticed) {
  const UniqueId::Bytes whole = UniqueId::random(two_addresses()).bytes();
  for (size_t i = 0; i < whole.size(); ++i) {
    UniqueId::Bytes damaged = whole;
    damaged[i] ^= std::byte{0x10};
    const auto parsed = UniqueId::parse(damaged);
    ASSERT_FALSE(parsed.ok()) << "byte " << i;
    EXPECT_EQ(parsed.status().code(), Code::kInvalidArgument);
  }
}

TEST(UniqueId, AnotherFormatIsNamed) {
  UniqueId::Bytes bytes = UniqueId::random(two_addresses()).bytes();
  bytes[8] = std::byte{9};
  const auto parsed = UniqueId::parse(bytes);
  ASSERT_FALSE(parsed.ok());
  EXPECT_THAT(parsed.status().message(), HasSubstr("format 9"));
}

TEST(UniqueId, MeetingPointIsTheSameOnEveryRank) {
  const auto a = UniqueId::from_meeting_point("127.0.0.1:5000");
  const auto b = UniqueId::from_meeting_point("127.0.0.1:5000");
  const auto c = UniqueId::from_meeting_point("127.0.0.1:5001");
  ASSERT_TRUE(a.ok() && b.ok() && c.ok());
  EXPECT_EQ(*a, *b);
  EXPECT_NE(a->secret, c->secret);
  EXPECT_TRUE(a->fixed_root);
}

TEST(UniqueId, MalformedMeetingPointNamesTheSetting) {
  for (const char* text :
       {"127.0.0.1", "127.0.0.1:0", "127.0.0.1:70000", ":5000", "fd00::2:5000"}) {
    const auto id = UniqueId::from_meeting_point(text);
    ASSERT_FALSE(id.ok()) << text;
    EXPECT_THAT(id.status().message(), HasSubstr("STRAIT_COMM_ID"));
  }
}

TEST(DeriveSecret, LabelsAndContextsGiveUnrelatedKeys) {
  const Secret secret = UniqueId::random({}).secret;
  const std::byte context[] = {std::byte{1}};
  EXPECT_EQ(derive_secret(secret, "a"), derive_secret(secret, "a"));
  EXPECT_NE(derive_secret(secret, "a"), derive_secret(secret, "b"));
  EXPECT_NE(derive_secret(secret, "a"), derive_secret(secret, "a", context));
}

}  // namespace
}  // namespace strait
