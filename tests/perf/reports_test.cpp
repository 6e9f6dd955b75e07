// What programs tell beyond nccl-tests' table, and who reads their JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "perf/processes.hpp"
#include "perf/run_command.hpp"

namespace strait::perf {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Results : public ::testing::Test {
 protected:
  ~Results() override { std::filesystem::remove(path_); }

  nlohmann::json json() const {
    std::ifstream file(path_);
    return nlohmann::json::parse(file, nullptr, false);
  }

  const std::string path_ =
      ::testing::TempDir() + "strait_results" + std::to_string(::getpid()) + ".json";
};

TEST_F(Results, AreReadByAScriptForNcclTests) {
  for (const char* name : {"all_reduce", "alltoall", "broadcast"}) {
    std::filesystem::remove(path_);
    const Finished made = run_command(
        in_processes(2, program(name) + " -t 2 -b 1K -e 4K -f 2 -n 5 -I 1 -K 1 -J " + path_));
    EXPECT_EQ(occurrences(made.output, "ended with 0"), 2) << made.output;
    EXPECT_THAT(made.output, HasSubstr("# Writing JSON output to " + path_));
    const Finished read =
        run_command("python3 " STRAIT_SOURCE_DIR "/tests/perf/read_results.py " + path_);
    EXPECT_EQ(read.exit_code, 0) << read.output;
    EXPECT_THAT(read.output, AllOf(HasSubstr("rank 3 group 0"), HasSubstr("1024 "),
                                   HasSubstr("in_place: avg"), HasSubstr("out of bounds 0 true")));
  }
}

TEST_F(Results, HoldTheCpuTimeUnderItsOwnName) {
  run_command(kProgram + " -t 2 -b 4 -e 4 -n 1 -C 1 -c 0 -J " + path_);
  const auto side = json()["results"][0]["out_of_place"];
  EXPECT_TRUE(side.contains("cpu_time"));
  EXPECT_FALSE(side.contains("time"));
  EXPECT_TRUE(side["nwrong"].is_null());
}

TEST_F(Results, SayWhetherTheBandwidthSufficed) {
  run_command("NCCL_TESTS_MIN_BW=1e9 " + kProgram + " -t 2 -b 4 -e 4 -n 1 -J " + path_);
  EXPECT_EQ(json()["average_bus_bandwidth"]["okay"], "false");
  std::filesystem::remove(path_);
  run_command("NCCL_TESTS_MIN_BW=0 " + kProgram + " -t 2 -b 4 -e 4 -n 1 -J " + path_);
  EXPECT_EQ(json()["average_bus_bandwidth"]["okay"], "true");
}

// All-to-all of 4 ranks in 2 racks: each of the 8 pairs across carries one block.
TEST_F(Results, CountBytesPerLink) {
  const Finished finished =
      run_command(program("alltoall") + " -t 4 --racks 2 -b 256K -e 256K -n 3 -m 2 --per-link " +
                  "--compress off -J " + path_);
  EXPECT_THAT(finished.output, HasSubstr("#   rank 0 -> rank 3: 65536 B of values, "));
  EXPECT_THAT(finished.output, Not(HasSubstr("rank 0 -> rank 1:")));
  const auto row = json()["results"][0];
  ASSERT_EQ(row["links"].size(), 8u);
  uint64_t wire = 0;
  for (const auto& link : row["links"]) {
    EXPECT_EQ(link["value_bytes"], 65536);
    wire += link["wire_bytes"].get<uint64_t>();
  }
  EXPECT_EQ(wire, row["wire_bytes"]);
}

TEST_F(Results, SayHowFarFromTheBoundATimeIs) {
  const Finished finished =
      run_command(kProgram + " -t 4 --racks 2 -b 1M -e 1M -n 2 --compress off --link-rate 40MB " +
                  "--bound-latency 100 -J " + path_);
  EXPECT_THAT(finished.output, HasSubstr("# Strait: bound: 100 us + bytes that a rack must send, "
                                         "not compressed / 40 MB/s"));
  const auto row = json()["results"][0];
  EXPECT_NEAR(row["bound_us"], 100 + (1 << 20) / 40.0, 1);
  EXPECT_GT(row["out_of_place"]["bound_percent"], 10);
  EXPECT_LT(row["out_of_place"]["bound_percent"], 105);
}

TEST_F(Results, HaveNoBoundWhereNothingIsKnown) {
  EXPECT_THAT(run_command(kProgram + " -t 4 --racks 2 -b 4 -e 4 -n 1").output,
              Not(HasSubstr("bound:")));
  EXPECT_THAT(run_command(kProgram + " -t 4 --racks 2 -b 4 -e 4 -n 1 --bound-rate 1GB").output,
              HasSubstr("/ 1000 MB/s"));
}

TEST(Progress, IsToldOnlyWhenAskedFor) {
  const std::string slow = kProgram + " -t 2 -b 4K -e 12K -i 4K -n 100000000 -c 0 -T 7";
  EXPECT_THAT(run_command(slow + " --progress -n 1").output, Not(HasSubstr("tests in")));
  const std::string sweep = kProgram + " -t 2 --racks 2 --link-rate 1MB -b 1M -e 1M -d all -n 1 " +
                            "-w 0 -c 0 --compress off";
  const Finished finished = run_command("timeout -s KILL 14 " + sweep + " --progress");
  EXPECT_THAT(finished.output, HasSubstr(" of 12 tests in ")) << finished.output;
}

TEST(Groups, MeasureBesideEachOther) {
  const std::string command = "NCCL_TESTS_SPLIT=\"MOD 2\" " + program("all_gather") +
                              " -t 2 -b 64K -e 64K -n 2 --per-link --racks 2 --compress off";
  const Finished finished = run_command(in_processes(4, command));
  EXPECT_EQ(occurrences(finished.output, "ended with 0"), 4) << finished.output;
  EXPECT_THAT(finished.output, AllOf(HasSubstr("#  Rank  5 Group  0"),
                                     HasSubstr("#  Rank  7 Group  1"), HasSubstr(" 4096 ")));
  // Ranks 0, 1, 4, 5 are a group of two racks; so are the others.
  EXPECT_TRUE(std::regex_search(finished.output, std::regex("rank [01] -> rank [45]:")));
  EXPECT_TRUE(std::regex_search(finished.output, std::regex("rank [23] -> rank [67]:")));
  EXPECT_FALSE(std::regex_search(finished.output, std::regex("rank [0145] -> rank [2367]:")));
}

TEST(Groups, RefuseTogether) {
  const Finished finished = run_command(
      in_processes(3, "NCCL_TESTS_SPLIT=\"DIV 2\" " + program("broadcast") + " -t 1 -r 1"), 20);
  EXPECT_EQ(occurrences(finished.output, "ended with 6"), 3) << finished.output;
  EXPECT_EQ(occurrences(finished.output, "-r 1 is no rank of 1"), 3);
}

TEST(Registration, ChangesNoResult) {
  for (const char* way : {"-R 1", "-R 2"}) {
    const Finished finished =
        run_command(program("all_gather") + " -t 2 -g 2 -b 64K -e 64K -n 2 " + way);
    EXPECT_EQ(finished.exit_code, 0) << way << "\n" << finished.output;
  }
}

TEST(Devices, AreNamedAsTheEnvironmentSays) {
  EXPECT_THAT(run_command("NCCL_TESTS_DEVICE=5 " + kProgram + " -t 2 -b 4 -e 4 -n 1").output,
              HasSubstr("device  6 [host]"));
}

}  // namespace
}  // namespace strait::perf
