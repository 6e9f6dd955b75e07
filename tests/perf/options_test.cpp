#include "perf/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "perf/engine/sweep.hpp"

namespace strait::perf {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

ParsedOptions parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "all_reduce_perf");
  return parse_options("all_reduce_perf", static_cast<int>(arguments.size()), arguments.data());
}

Options accepted(std::vector<const char*> arguments) {
  const ParsedOptions parsed = parse(std::move(arguments));
  EXPECT_TRUE(parsed.options.has_value()) << parsed.text;
  return parsed.options.value_or(Options{});
}

std::string refused(std::vector<const char*> arguments, ExitCode code = ExitCode::kInvalidUsage) {
  const ParsedOptions parsed = parse(std::move(arguments));
  EXPECT_FALSE(parsed.options.has_value());
  EXPECT_EQ(parsed.exit_code, code);
  EXPECT_EQ(std::count(parsed.text.begin(), parsed.text.end(), '\n'), 1) << parsed.text;
  return parsed.text;
}

std::vector<uint64_t> sizes(std::vector<const char*> arguments) {
  const Options options = accepted(std::move(arguments));
  std::vector<uint64_t> bytes;
  for (const Test& test : make_sweep(options, 4, true, false))
    bytes.push_back(test.elements * size_of(test.type));
  return bytes;
}

TEST(Options, HaveTheDefaultsOfNcclTests) {
  const Options options = accepted({});
  EXPECT_EQ(options.threads, 1);
  EXPECT_EQ(options.devices, 1);
  EXPECT_EQ(options.min_bytes, 32 << 20);
  EXPECT_EQ(options.max_bytes, 32 << 20);
  EXPECT_EQ(options.step_bytes, 1 << 20);
  EXPECT_EQ(options.iterations, 20);
  EXPECT_EQ(options.warmup, 1);
  EXPECT_EQ(options.aggregate, 1);
  EXPECT_EQ(options.cycles, 1);
  EXPECT_EQ(options.check, 1);
  EXPECT_EQ(options.average, 1);
  EXPECT_THAT(options.types, ElementsAre(DataType::kFloat32));
  EXPECT_THAT(options.kinds, ElementsAre(ReduceKind::kSum));
  EXPECT_EQ(options.data, "random");
}

TEST(Options, TakeShortAndLongNames) {
  for (const auto& spelling :
       {std::vector<const char*>{"-t", "8", "-b", "8", "-e", "1M", "-f", "2"},
        {"--nthreads", "8", "--minbytes", "8", "--maxbytes", "1M", "--stepfactor", "2"},
        {"-t8", "-b8", "-e1M", "-f2"},
        {"--nthreads=8", "--minbytes=8", "--maxbytes=1M", "--stepfactor=2"}}) {
    const Options options = accepted(spelling);
    EXPECT_EQ(options.threads, 8);
    EXPECT_EQ(options.min_bytes, 8);
    EXPECT_EQ(options.max_bytes, 1 << 20);
    EXPECT_EQ(options.step_factor, 2);
  }
}

TEST(Options, TakeEveryFlagOfNcclTests) {
  const Options options =
      accepted({"-t1", "-g2", "-p1", "-i4",  "-b4", "-e8", "-n5", "-w2", "-m3", "-N2", "-c0",
                "-o",  "avg", "-d",  "half", "-r0", "-z1", "-y1", "-T9", "-C1", "-S1", "-a3",
                "-R1", "-x1", "-V4", "-M1",  "-u1", "-I1", "-K1", "-G0", "-D0", "-J",  "out.json"});
  EXPECT_EQ(options.devices, 2);
  EXPECT_TRUE(options.parallel_init);
  EXPECT_EQ(options.iterations, 5);
  EXPECT_EQ(options.aggregate, 3);
  EXPECT_THAT(options.kinds, ElementsAre(ReduceKind::kAvg));
  EXPECT_THAT(options.types, ElementsAre(DataType::kFloat16));
  EXPECT_TRUE(options.null_stream && options.cpu_time && options.unalign && options.per_iteration);
  EXPECT_EQ(options.local_register, 1);
  EXPECT_EQ(options.cta_policy, 1);
  EXPECT_EQ(options.json_path, "out.json");
}

TEST(Options, TakeTheLastOfARepeatedFlag) {
  EXPECT_EQ(accepted({"-n", "3", "-b", "4", "-n", "7"}).iterations, 7);
}

TEST(Options, ExpandAll) {
  const Options options = accepted({"-o", "all", "-d", "all"});
  EXPECT_EQ(options.types.size(), static_cast<size_t>(kDataTypeCount));
  EXPECT_EQ(options.kinds.size(), static_cast<size_t>(kReduceKindCount));
}

TEST(Options, RefuseWhatTheyDoNotKnow) {
  EXPECT_THAT(refused({"--frobnicate", "3"}), HasSubstr("--frobnicate"));
  EXPECT_THAT(refused({"-q"}), HasSubstr("-q"));
  EXPECT_THAT(refused({"-b", "eight"}), HasSubstr("-b"));
  EXPECT_THAT(refused({"-n", "0"}), HasSubstr("--iters"));
  EXPECT_THAT(refused({"-t", "x"}), HasSubstr("--nthreads"));
  EXPECT_THAT(refused({"-o", "xor"}), HasSubstr("xor"));
  EXPECT_THAT(refused({"-d", "int16"}), HasSubstr("int16"));
  EXPECT_THAT(refused({"-b", "2M", "-e", "1M"}), HasSubstr("-b 2M is larger than -e 1M"));
  EXPECT_THAT(refused({"-b", "0", "-e", "1M", "-f", "2"}), HasSubstr("never reach"));
  EXPECT_THAT(refused({"-J", "out.txt"}), HasSubstr(".json"));
  EXPECT_THAT(refused({"--data", "gradients"}), HasSubstr("gradients"));
  EXPECT_THAT(refused({"--compress", "zip"}), HasSubstr("zip"));
  EXPECT_THAT(refused({"--link-rate", "fast"}), HasSubstr("--link-rate"));
  EXPECT_THAT(refused({"--bound-rate", "fast"}), HasSubstr("--bound-rate"));
  EXPECT_THAT(refused({"--bound-latency", "-1"}), HasSubstr("--bound-latency"));
  EXPECT_THAT(refused({"-K", "20"}), HasSubstr("-K"));
}

TEST(Options, RefuseWhatOnlyGpusCanDo) {
  for (const char* flag : {"-I1", "-z1", "--median", "--percentiles"})
    EXPECT_THAT(refused({"-G", "4", flag}), HasSubstr("-G 4: a graph's iterations have no times"));
  EXPECT_THAT(refused({"-D", "1"}, ExitCode::kNotImplemented),
              HasSubstr("-D 1: the library has no device API"));
}

TEST(Options, HelpIsASuccess) {
  const ParsedOptions parsed = parse({"-h"});
  EXPECT_FALSE(parsed.options.has_value());
  EXPECT_EQ(parsed.exit_code, ExitCode::kSuccess);
  EXPECT_THAT(parsed.text, HasSubstr("--minbytes"));
}

TEST(Options, BecomeSettingsOfTheLibrary) {
  const Options options = accepted({"--racks", "2", "--compress", "fast", "--link-rate", "2gbit"});
  const auto settings = library_settings(options, 8);
  ASSERT_TRUE(settings.ok());
  EXPECT_THAT(*settings,
              ElementsAre(Pair("STRAIT_COMPRESS", "fast"), Pair("STRAIT_LINK_RATE", "2gbit"),
                          Pair("STRAIT_EMULATE_DOMAINS", "4")));
  const auto uneven = library_settings(accepted({"--racks", "3"}), 8);
  ASSERT_FALSE(uneven.ok());
  EXPECT_THAT(uneven.status().message(), HasSubstr("3"));
  EXPECT_THAT(uneven.status().message(), HasSubstr("8"));
}

TEST(Options, ReadTheBandwidthFloorStrictly) {
  EXPECT_EQ(*parse_bandwidth_floor(nullptr), -1);
  EXPECT_EQ(*parse_bandwidth_floor("0.25"), 0.25);
  EXPECT_THAT(parse_bandwidth_floor("fast").status().message(), HasSubstr("NCCL_TESTS_MIN_BW"));
  EXPECT_FALSE(parse_bandwidth_floor("-3").ok());
}

TEST(Options, ReadTheFirstDevice) {
  EXPECT_EQ(*parse_first_device(nullptr, 5), -1);
  EXPECT_EQ(*parse_first_device("3", 5), 3);
  EXPECT_EQ(*parse_first_device("r/3", 5), 1);
  for (const char* bad : {"", "r/0", "r/", "-1", "two"})
    EXPECT_THAT(parse_first_device(bad, 0).status().message(), HasSubstr("NCCL_TESTS_DEVICE"));
}

TEST(Sweep, StepsByFactorOrBytes) {
  EXPECT_THAT(sizes({"-b", "8", "-e", "64", "-f", "2"}), ElementsAre(8, 16, 32, 64));
  EXPECT_THAT(sizes({"-b", "8", "-e", "70", "-f", "3"}), ElementsAre(8, 24));
  EXPECT_THAT(sizes({"-b", "0", "-e", "12", "-i", "4"}), ElementsAre(0, 4, 8, 12));
  EXPECT_THAT(sizes({"-b", "0", "-e", "0"}), ElementsAre(0));
  EXPECT_THAT(sizes({"-b", "8G", "-e", "8G", "-f", "2"}), ElementsAre(uint64_t{8} << 30));
}

TEST(Sweep, HasRootsOnlyWhereTheCollectiveHas) {
  const Options options = accepted({"-b4", "-e4", "-r", "-1"});
  EXPECT_EQ(make_sweep(options, 4, true, true).size(), 4u);
  EXPECT_EQ(make_sweep(options, 4, true, false).size(), 1u);
}

}  // namespace
}  // namespace strait::perf
