// The version that programs are told, and how it is set.

#include "api/version.hpp"

#include <gmock/gmock.h>

#include "tests/api/world.hpp"

namespace strait::test {
namespace {

using testing::HasSubstr;

TEST(Version, IsThatOfTheHeader) {
  int version = 0;
  ASSERT_EQ(ncclGetVersion(&version), ncclSuccess);
  EXPECT_EQ(version, NCCL_VERSION_CODE);
  EXPECT_EQ(ncclGetVersion(nullptr), ncclInvalidArgument);
}

TEST(Version, IsWhatTheSettingSays) {
  int version = 0;
  for (const char* text : {"2.28.9", "22809"}) {
    const Environment environment(Settings{{"STRAIT_NCCL_VERSION", text}});
    ASSERT_EQ(ncclGetVersion(&version), ncclSuccess);
    EXPECT_EQ(version, 22809) << text;
  }
}

TEST(Version, ReadsWhatPeopleWrite) {
  EXPECT_EQ(*api::parse_nccl_version("2.8.3"), 2803);
  EXPECT_EQ(*api::parse_nccl_version("2.18"), 21800);
  for (const char* text :
       {"", "two", "2.", "2.28.9.1", "2.28.9 ", "9", "-22809", "2.100.1", "2.-1"})
    EXPECT_FALSE(api::parse_nccl_version(text).ok()) << text;
}

TEST(Version, ASettingThatIsNoVersionIsRefused) {
  const Environment environment(Settings{{"STRAIT_NCCL_VERSION", "latest"}});
  int version = 0;
  EXPECT_EQ(ncclGetVersion(&version), ncclInvalidArgument);
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("\"latest\" is no version"));
}

}  // namespace
}  // namespace strait::test
