#include "base/units.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace strait {
namespace {

using testing::HasSubstr;

TEST(Size, TakesBytesAndBinarySuffixes) {
  EXPECT_EQ(*parse_size("0"), 0);
  EXPECT_EQ(*parse_size("4096"), 4096);
  EXPECT_EQ(*parse_size("64K"), 65536);
  EXPECT_EQ(*parse_size("64k"), 65536);
  EXPECT_EQ(*parse_size("1M"), 1 << 20);
  EXPECT_EQ(*parse_size("2G"), int64_t{2} << 30);
  EXPECT_EQ(*parse_size("1T"), int64_t{1} << 40);
  EXPECT_EQ(*parse_size("1.5M"), 3 << 19);
  EXPECT_EQ(*parse_size("9223372036854775807"), INT64_MAX);
}

TEST(Size, RefusesEverythingElse) {
  for (const char* text : {"", " 1", "1 ", "-1", "+1", "K", "1KB", "1KiB", "0x10", "1e3", "1.5",
                           "1..5K", "nan", "inf", "9223372036854775808", "9999999999G", "12Q"}) {
    const auto size = parse_size(text);
    EXPECT_FALSE(size.ok()) << text;
    EXPECT_THAT(size.status().message(), HasSubstr("64K")) << text;
  }
}

TEST(Rate, TakesBitsDecimally) {
  EXPECT_EQ(*parse_rate("2gbit"), 250'000'000);
  EXPECT_EQ(*parse_rate("2Gbit"), 250'000'000);
  EXPECT_EQ(*parse_rate("100mbit"), 12'500'000);
  EXPECT_EQ(*parse_rate("8kbit"), 1000);
  EXPECT_EQ(*parse_rate("8bit"), 1);
  EXPECT_EQ(*parse_rate("2.5gbit"), 312'500'000);
  EXPECT_EQ(*parse_rate("1tbit"), 125'000'000'000);
}

TEST(Rate, TakesBytes) {
  EXPECT_EQ(*parse_rate("0"), 0);
  EXPECT_EQ(*parse_rate("250000000"), 250'000'000);
  EXPECT_EQ(*parse_rate("250MB"), 250'000'000);
  EXPECT_EQ(*parse_rate("1GB"), 1'000'000'000);
  EXPECT_EQ(*parse_rate("10kB"), 10'000);
}

TEST(Rate, RefusesEverythingElse) {
  for (const char* text : {"", "gbit", "-2gbit", "2 gbit", "2gbit ", "2GBIT", "2gb", "2Mb", "fast",
                           "1.5", "99999999999GB"})
    EXPECT_FALSE(parse_rate(text).ok()) << text;
}

// Zero means "no limit", so a rate must not become zero by rounding.
TEST(Rate, RefusesLessThanAByte) {
  EXPECT_FALSE(parse_rate("1bit").ok());
}

TEST(FormatBytes, KeepsOneDecimalWhereItSaysSomething) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1 KiB");
  EXPECT_EQ(format_bytes(65536), "64 KiB");
  EXPECT_EQ(format_bytes(3 << 19), "1.5 MiB");
  EXPECT_EQ(format_bytes((1 << 20) - 1), "1 MiB");
  EXPECT_EQ(format_bytes(UINT64_MAX), "16 EiB");
}

}  // namespace
}  // namespace strait
