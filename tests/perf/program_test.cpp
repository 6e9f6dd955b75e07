#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "perf/run_command.hpp"

namespace strait::perf {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string fresh_path(const std::string& name) {
  const std::string path = ::testing::TempDir() + "strait_" + std::to_string(::getpid()) + name;
  std::filesystem::remove(path);
  return path;
}

Finished run(const std::string& arguments) {
  return run_command(kProgram + " " + arguments);
}

nlohmann::json json_of(const std::string& arguments) {
  const std::string path = fresh_path("result.json");
  const Finished finished = run(arguments + " -J " + path);
  EXPECT_EQ(finished.exit_code, 0) << finished.output;
  std::ifstream file(path);
  return nlohmann::json::parse(file, nullptr, false);
}

std::vector<std::string> rows_of(const std::string& output) {
  std::vector<std::string> rows;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);)
    if (!line.empty() && line[0] != '#') rows.push_back(line);
  return rows;
}

size_t words_in(const std::string& line) {
  std::istringstream words(line);
  return static_cast<size_t>(std::distance(std::istream_iterator<std::string>(words), {}));
}

TEST(Program, EveryTypeAndOperationIsRightOnEightRanks) {
  const Finished finished = run("-t 8 -b 4 -e 64K -f 16 -n 1 -w 0 -c 1 -d all -o all");
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_THAT(finished.output, HasSubstr("# Out of bounds values : 0 OK"));
  EXPECT_EQ(rows_of(finished.output).size(), 12u * 6u * 4u) << finished.output;
}

TEST(Program, OddRanksAndCountsAreRight) {
  for (const char* ranks : {"-t 3", "-t 5", "-t 7", "-g 3", "-t 2 -g 2"}) {
    const Finished finished =
        run(std::string(ranks) + " -b 4 -e 100 -i 12 -n 1 -w 0 -d bfloat16 -o all");
    EXPECT_EQ(finished.exit_code, 0) << ranks << finished.output;
  }
}

TEST(Program, EveryWayOfRunningIsRight) {
  for (const char* way :
       {"-m 3", "-u 1", "-y 1", "-p 1", "-z 1", "-z 2", "-z 3", "-C 1", "-N 2", "-S 1", "-M 1",
        "-a 0", "-a 2", "-a 3", "-b 0 -e 4 -i 4", "--data zeros", "--data normal",
        "--data normal -o all -d half", "--data normal --racks 2 -b 4 -f 16 -e 1M"}) {
    const Finished finished = run("-t 4 -b 4K -e 4K -n 3 " + std::string(way));
    EXPECT_EQ(finished.exit_code, 0) << way << "\n" << finished.output;
    EXPECT_THAT(finished.output, HasSubstr("# Out of bounds values : 0 OK")) << way;
  }
}

TEST(Program, OneRankIsRight) {
  EXPECT_EQ(run("-b 4 -e 4K -f 32 -d all -o all -n 1").exit_code, 0);
}

TEST(Program, ForcedAlgorithmsAreRightWithinRounding) {
  for (const char* algorithm : {"ring", "tree", "one_shot", "two_shot"}) {
    const Finished finished = run_command(std::string("STRAIT_ALGO=") + algorithm + " " + kProgram +
                                          " -t 4 -b 4K -e 4K -n 1 --data normal -d bfloat16");
    EXPECT_EQ(finished.exit_code, 0) << algorithm << "\n" << finished.output;
  }
}

TEST(Program, PrintsTheTableOfNcclTests) {
  const Finished finished = run("-t 2 -b 1K -e 2K -f 2 -n 2");
  EXPECT_EQ(finished.exit_code, 0);
  for (const char* line :
       {"# nccl-tests version 2.19.6", "# Collective test starting: all_reduce_perf",
        "# nThread 2 nGpus 1 minBytes 1024 maxBytes 2048 step: 2(factor)", "# Using devices",
        "#  Rank  1 Group  0 Pid", "out-of-place", "#wrong", "saving",
        "# Avg bus bandwidth    :", "# Collective test concluded: all_reduce_perf"})
    EXPECT_THAT(finished.output, HasSubstr(line));
  const auto rows = rows_of(finished.output);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_TRUE(std::regex_match(
      rows[0],
      std::regex(R"( +1024 +256 +float +sum +-1( +[0-9.]+){3} +0( +[0-9.]+){3} +0 +0 +0.00)")))
      << rows[0];
}

TEST(Program, AddsTheColumnsAskedFor) {
  EXPECT_EQ(words_in(rows_of(run("-b 4 -e 4 -n 2").output)[0]), 15u);
  EXPECT_EQ(words_in(rows_of(run("-b 4 -e 4 -n 2 -I 1").output)[0]), 15u + 8u);
  EXPECT_EQ(words_in(rows_of(run("-b 4 -e 4 -n 2 --percentiles").output)[0]), 15u + 4u);
  EXPECT_THAT(run("-b 4 -e 4 -n 2 -c 0").output, HasSubstr("N/A"));
}

TEST(Program, WritesTheJsonOfNcclTests) {
  auto json = json_of("-t 2 -b 1K -e 2K -f 2 -n 4 --percentiles");
  for (const char* key :
       {"version", "start_time", "args", "env", "nccl_version", "config", "results",
        "out_of_bounds", "average_bus_bandwidth", "errors", "end_time"})
    EXPECT_TRUE(json.contains(key)) << key;
  EXPECT_EQ(json["version"], 3);
  EXPECT_EQ(json["config"]["devices"].size(), 2u);
  EXPECT_EQ(json["out_of_bounds"]["okay"], "true");
  EXPECT_EQ(json["average_bus_bandwidth"]["okay"], "unchecked");
  ASSERT_EQ(json["results"].size(), 2u);
  const auto& row = json["results"][1];
  EXPECT_EQ(row["size"], 2048);
  EXPECT_EQ(row["count"], 512);
  EXPECT_EQ(row["type"], "float");
  EXPECT_EQ(row["redop"], "sum");
  for (const char* side : {"out_of_place", "in_place"}) {
    for (const char* key : {"time", "alg_bw", "bus_bw", "nwrong"})
      EXPECT_TRUE(row[side].contains(key)) << key;
    const auto& each = row[std::string(side) + "_per_iter"];
    EXPECT_GT(each["p50_us"], 0);
    EXPECT_GE(each["p99_us"], each["p50_us"]);
    EXPECT_EQ(each["times_us"].size(), 4u);
  }
  EXPECT_EQ(row["wire_bytes"], 0);
  EXPECT_EQ(row["result_hash"].get<std::string>().size(), 16u);
  EXPECT_EQ(row["actual_iterations"], 4);
}

TEST(Program, NeverOverwritesAJsonFile) {
  const std::string path = fresh_path("taken.json");
  std::filesystem::remove(path + ".0");
  std::ofstream(path) << "mine";
  EXPECT_EQ(run("-b 4 -e 4 -n 1 -J " + path).exit_code, 0);
  std::string first;
  std::ifstream(path) >> first;
  EXPECT_EQ(first, "mine");
  std::ifstream second(path + ".0");
  EXPECT_TRUE(nlohmann::json::parse(second, nullptr, false).contains("results"));
}

// What is between racks must shrink and change nothing; the hash of the result shows it.
TEST(Program, TwoRacksCompressedGiveTheSameBits) {
  const std::string arguments =
      "-t 8 --racks 2 -b 1M -e 1M -n 2 -d bfloat16 --data " STRAIT_SOURCE_DIR
      "/perf/data/gpt_gradients_bf16.safetensors --compress ";
  auto plain = json_of(arguments + "off");
  auto coded = json_of(arguments + "auto");
  ASSERT_EQ(plain["results"].size(), 1u);
  ASSERT_EQ(coded["results"].size(), 1u);
  EXPECT_EQ(plain["results"][0]["result_hash"], coded["results"][0]["result_hash"]);
  EXPECT_EQ(coded["config"]["racks"], 2);
  const auto wire = plain["results"][0]["wire_bytes"].get<uint64_t>();
  EXPECT_GE(wire, 2u << 20);  // in each direction once
  EXPECT_LT(wire, (2u << 20) * 1.02);
  EXPECT_GT(coded["results"][0]["wire_saving"], 20.0);
}

TEST(Program, TheThrottleHoldsWhatLeavesARack) {
  auto json = json_of("-t 4 --racks 2 -b 1M -e 1M -n 2 -w 0 --compress off --link-rate 20MB");
  ASSERT_EQ(json["results"].size(), 1u);
  // 1 MiB each way at 20 MB/s takes 52 ms.
  EXPECT_GT(json["results"][0]["out_of_place"]["time"], 45'000.0);
  EXPECT_LT(json["results"][0]["out_of_place"]["time"], 5'000'000.0);
}

TEST(Program, UnknownFlagsAreErrors) {
  const Finished finished = run("--frobnicate 3");
  EXPECT_EQ(finished.exit_code, 6);
  EXPECT_THAT(finished.output, HasSubstr("--frobnicate"));
  EXPECT_EQ(run("-h").exit_code, 0);
  EXPECT_EQ(run("-G 1").exit_code, 5);
}

TEST(Program, RacksMustDivideTheRanks) {
  const Finished finished = run("-t 8 --racks 3");
  EXPECT_EQ(finished.exit_code, 6);
  EXPECT_THAT(finished.output, AllOf(HasSubstr("--racks 3"), HasSubstr("8 ranks")));
}

TEST(Program, BadFilesGetOneSentence) {
  const std::string path = fresh_path("cut.safetensors");
  std::ofstream(path) << "short";
  Finished finished = run("-d bfloat16 --data " + path);
  EXPECT_EQ(finished.exit_code, 6);
  EXPECT_THAT(finished.output, HasSubstr("5 bytes hold no header"));
  finished = run("--data " STRAIT_SOURCE_DIR "/perf/data/gpt_gradients_bf16.safetensors");
  EXPECT_EQ(finished.exit_code, 6);
  EXPECT_THAT(finished.output, HasSubstr("has no float tensors"));
  EXPECT_THAT(finished.output, HasSubstr("bfloat16"));
}

TEST(Program, ATestThatTakesTooLongEndsWithFour) {
  const Finished finished = run("-t 2 -b 1K -e 1K -n 1000000000 -T 1");
  EXPECT_EQ(finished.exit_code, 4);
  EXPECT_THAT(finished.output, HasSubstr("-T 1"));
}

TEST(Program, TooLittleBandwidthEndsWithSeven) {
  const Finished finished =
      run_command("NCCL_TESTS_MIN_BW=1000000 " + kProgram + " -t 2 -b 1K -e 1K -n 1");
  EXPECT_EQ(finished.exit_code, 7);
  EXPECT_EQ(run_command("NCCL_TESTS_MIN_BW=x " + kProgram + " -b 4 -e 4").exit_code, 6);
}

}  // namespace
}  // namespace strait::perf
