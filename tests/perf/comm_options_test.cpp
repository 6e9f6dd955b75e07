#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "perf/comm_ops/options.hpp"

namespace strait::perf {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ParsedCommOptions parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "comm_ops_perf");
  return parse_comm_options(static_cast<int>(arguments.size()), arguments.data());
}

std::vector<int> sizes(std::vector<const char*> arguments, int ranks) {
  arguments.insert(arguments.begin(), "init");
  const ParsedCommOptions parsed = parse(std::move(arguments));
  EXPECT_TRUE(parsed.options.has_value()) << parsed.text;
  return swept_sizes(parsed.options.value_or(CommOptions{}), ranks);
}

TEST(CommOptions, HaveTheDefaultsOfNcclTests) {
  const CommOptions options = *parse({"split"}).options;
  EXPECT_EQ(options.test, CommTest::kSplit);
  EXPECT_EQ(options.iterations, 2);
  EXPECT_EQ(options.warmup, 1);
  EXPECT_EQ(options.work_iterations, 2);
  EXPECT_EQ(options.flush_interval, 1);
  EXPECT_EQ(options.root_every, 0);
  EXPECT_FALSE(options.aborts || options.share || options.verbose || options.all_timers);
}

TEST(CommOptions, TakeEveryFlag) {
  const auto parsed =
      parse({"grow", "-a", "-A",         "-s", "step-2", "-b", "2",  "-e", "8",  "-F", "16", "-i",
             "3",    "-r", "factor-1.5", "-R", "4",      "-v", "-w", "0",  "-W", "1",  "-t", "2"});
  ASSERT_TRUE(parsed.options) << parsed.text;
  EXPECT_EQ(parsed.options->test, CommTest::kGrow);
  EXPECT_EQ(parsed.options->resize.amount, 1.5);
  EXPECT_EQ(parsed.options->sweep.kind, Change::Kind::kStep);
  EXPECT_TRUE(parse({"init", "--share", "--abort"}).options);
}

TEST(CommOptions, RefuseWithOneSentence) {
  for (const auto& [arguments, word] :
       std::vector<std::pair<std::vector<const char*>, const char*>>{
           {{}, "test"},
           {{"melt"}, "melt"},
           {{"init", "-s", "twice"}, "twice"},
           {{"init", "-s", "factor-0"}, "factor-0"},
           {{"split", "-r", "fixed"}, "-r fixed"},
           {{"split", "-S", "-a"}, "-S and -a"},
           {{"init", "-q"}, "-q"},
           {{"init", "-F", "0"}, "flush"}}) {
    const ParsedCommOptions parsed = parse(arguments);
    EXPECT_FALSE(parsed.options) << word;
    EXPECT_EQ(parsed.exit_code, ExitCode::kInvalidUsage) << word;
    EXPECT_THAT(parsed.text, HasSubstr(word));
  }
  EXPECT_EQ(parse({"-h"}).exit_code, ExitCode::kSuccess);
}

TEST(CommOptions, SweepSizesUpAndDown) {
  EXPECT_THAT(sizes({}, 8), ElementsAre(8, 4, 2, 1));
  EXPECT_THAT(sizes({}, 6), ElementsAre(6, 3, 2, 1));
  EXPECT_THAT(sizes({"-s", "fixed"}, 6), ElementsAre(6));
  EXPECT_THAT(sizes({"-b", "2", "-e", "9"}, 8), ElementsAre(2, 4, 8));
  EXPECT_THAT(sizes({"-s", "step-3", "-b", "8", "-e", "2"}, 8), ElementsAre(8, 5, 2));
  EXPECT_THAT(sizes({"-s", "step-0.1", "-b", "1", "-e", "3"}, 8), ElementsAre(1, 2, 3));
  EXPECT_THAT(sizes({"-b", "3", "-e", "3"}, 8), ElementsAre(3));
}

TEST(CommOptions, DivideTheRanks) {
  const auto colors = [](const char* resize, int count) {
    std::vector<int> all;
    for (int rank = 0; rank < count; ++rank)
      all.push_back(resize_color(*Change::parse(resize), rank, count));
    return all;
  };
  EXPECT_THAT(colors("factor-2", 4), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(colors("factor-2", 3), ElementsAre(0, 0, 1));
  EXPECT_THAT(colors("factor-3", 6), ElementsAre(0, 0, 1, 1, 1, 1));
  EXPECT_THAT(colors("step-1", 4), ElementsAre(0, 0, 0, 1));
}

}  // namespace
}  // namespace strait::perf
