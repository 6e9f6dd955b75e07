#include "perf/launch/split.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace strait::perf {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<Split> split(const std::map<std::string, std::string>& variables, int processes = 6) {
  return Split::read(
      [&](const char* name) {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
      },
      processes);
}

std::vector<int> colors(const std::string& text) {
  const auto made = split({{"NCCL_TESTS_SPLIT", text}});
  EXPECT_TRUE(made.ok()) << made.status().message();
  std::vector<int> all;
  for (int process = 0; process < 6; ++process) all.push_back(made->color(process));
  return all;
}

TEST(Split, IsOneGroupByItself) {
  const auto made = split({});
  EXPECT_EQ(made->groups().size(), 1u);
  EXPECT_EQ(made->size(3), 6);
  EXPECT_EQ(made->index(3), 3);
  EXPECT_EQ(made->leader(3), 0);
}

TEST(Split, KnowsTheOperatorsOfNcclTests) {
  EXPECT_THAT(colors("AND 0x1"), ElementsAre(0, 1, 0, 1, 0, 1));
  EXPECT_THAT(colors("&0b11"), ElementsAre(0, 1, 2, 3, 0, 1));
  EXPECT_THAT(colors("or 1"), ElementsAre(1, 1, 3, 3, 5, 5));
  EXPECT_THAT(colors("| 1"), ElementsAre(1, 1, 3, 3, 5, 5));
  EXPECT_THAT(colors("MOD 4"), ElementsAre(0, 1, 2, 3, 0, 1));
  EXPECT_THAT(colors("%4"), ElementsAre(0, 1, 2, 3, 0, 1));
  EXPECT_THAT(colors("DIV 4"), ElementsAre(0, 0, 0, 0, 1, 1));
  EXPECT_THAT(colors("/ 4"), ElementsAre(0, 0, 0, 0, 1, 1));
}

TEST(Split, TakesTheMaskFirstAndInHexadecimal) {
  const auto made = split({{"NCCL_TESTS_SPLIT_MASK", "10"}, {"NCCL_TESTS_SPLIT", "MOD 2"}}, 20);
  EXPECT_EQ(made->color(15), 0);
  EXPECT_EQ(made->color(17), 16);
  EXPECT_EQ(split({{"NCCL_TESTS_SPLIT_MASK", "0x3"}})->color(5), 1);
}

TEST(Split, NumbersTheMembersOfAGroup) {
  const auto made = split({{"NCCL_TESTS_SPLIT", "MOD 4"}});
  EXPECT_THAT(made->members(5), ElementsAre(1, 5));
  EXPECT_EQ(made->index(5), 1);
  EXPECT_EQ(made->leader(5), 1);
  EXPECT_EQ(made->size(2), 1);
}

TEST(Split, RefusesWhatItCannotRead) {
  for (const char* text : {"", "3", "XOR 2", "MOD", "MOD 0", "/0", "AND x", "AND 1 2", "% -2"})
    EXPECT_THAT(split({{"NCCL_TESTS_SPLIT", text}}).status().message(),
                HasSubstr("NCCL_TESTS_SPLIT=\"" + std::string(text) + "\""))
        << text;
  EXPECT_THAT(split({{"NCCL_TESTS_SPLIT_MASK", "xyz"}}).status().message(),
              HasSubstr("NCCL_TESTS_SPLIT_MASK=\"xyz\""));
}

}  // namespace
}  // namespace strait::perf
