// Every program: right results in threads and in processes, and wrong ones told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "perf/processes.hpp"
#include "perf/run_command.hpp"

namespace strait::perf {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::vector<std::string>> rows_of(const std::string& output) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] != ' ') continue;
    std::istringstream words(line);
    rows.emplace_back(std::istream_iterator<std::string>(words),
                      std::istream_iterator<std::string>());
  }
  return rows;
}

struct Known {
  const char* name;
  bool reduces, rooted, powers_only;
  // Of 4 ranks and 64 KiB of floats: the size and count columns.
  const char* size;
  const char* count;
};

std::ostream& operator<<(std::ostream& out, const Known& known) {
  return out << known.name;
}

class EveryCollective : public ::testing::TestWithParam<Known> {
 protected:
  std::string command(const std::string& arguments) const {
    return program(GetParam().name) + " " + arguments;
  }
  void expect_right(const std::string& arguments) const {
    const Finished finished = run_command(command(arguments));
    EXPECT_EQ(finished.exit_code, 0) << arguments << "\n" << finished.output;
    EXPECT_THAT(finished.output, HasSubstr("# Out of bounds values : 0 OK")) << arguments;
  }
};

TEST_P(EveryCollective, IsRightForEveryTypeAndOperationOnFourRanks) {
  const Known& known = GetParam();
  const Finished finished =
      run_command(command("-t 2 -g 2 -b 8 -e 32K -f 64 -n 1 -w 0 -d all -o all -r -1"));
  EXPECT_EQ(finished.exit_code, 0) << finished.output;
  EXPECT_THAT(finished.output, HasSubstr("# Out of bounds values : 0 OK"));
  EXPECT_EQ(rows_of(finished.output).size(),
            12u * 3u * (known.reduces ? 6u : 1u) * (known.rooted ? 4u : 1u));
}

TEST_P(EveryCollective, IsRightOnOneToFiveRanks) {
  for (const int ranks : {1, 2, 3, 5}) {
    if (GetParam().powers_only && ranks > 2) continue;
    const std::string threads = "-t " + std::to_string(ranks);
    expect_right(threads + " -b 100 -e 1M -f 99 -n 2 -d bfloat16 -o avg");
  }
  expect_right("-t 4 -b 64K -e 64K -n 2 -m 3 -u 1 -d int8");
  expect_right("-t 4 -b 64K -e 64K -n 2 -y 1 -z 1 -p 1 -c 2");
  expect_right("-t 4 --racks 2 -b 256K -e 256K -n 1 --data normal -d half");
}

TEST_P(EveryCollective, IsRightInProcesses) {
  const Finished finished =
      run_command(in_processes(2, command("-t 2 -b 4K -e 64K -f 16 -n 2 --racks 2")));
  EXPECT_EQ(occurrences(finished.output, "ended with 0"), 2) << finished.output;
  EXPECT_EQ(occurrences(finished.output, "# Using devices"), 1);
  EXPECT_EQ(rows_of(finished.output).size(), 2u);
}

TEST_P(EveryCollective, ShowsTheSizesOfNcclTests) {
  const Finished finished = run_command(command("-t 4 -b 64K -e 64K -n 1"));
  const auto rows = rows_of(finished.output);
  ASSERT_EQ(rows.size(), 1u) << finished.output;
  const Known& known = GetParam();
  EXPECT_EQ(rows[0][0], known.size);
  EXPECT_EQ(rows[0][1], known.count);
  EXPECT_EQ(rows[0][3], known.reduces ? "sum" : "none");
  EXPECT_EQ(rows[0][4], known.rooted ? "0" : "-1");
}

// One flipped bit must not go unseen, and must change the exit code. Which message of a link holds
// the checked result is the library's business: one of the first few does.
TEST_P(EveryCollective, FindsACorruptedMessage) {
  std::string told;
  for (int passed = 0; passed < 4 && told.empty(); ++passed) {
    const Finished finished = run_command("STRAIT_FAULT=corrupt_after=" + std::to_string(passed) +
                                          " " + command("-t 2 -b 1K -e 1K -n 1 -w 0"));
    if (finished.exit_code == 7) told = finished.output;
  }
  EXPECT_THAT(told,
              AllOf(HasSubstr("# wrong: rank "), HasSubstr(", expected "), HasSubstr("FAILED")));
}

INSTANTIATE_TEST_SUITE_P(
    Programs, EveryCollective,
    ::testing::Values(Known{"all_reduce", true, false, false, "65536", "16384"},
                      Known{"all_gather", false, false, false, "65536", "4096"},
                      Known{"broadcast", false, true, false, "65536", "16384"},
                      Known{"reduce", true, true, false, "65536", "16384"},
                      Known{"reduce_scatter", true, false, false, "65536", "4096"},
                      Known{"alltoall", false, false, false, "65536", "4096"},
                      Known{"alltoallv", false, false, false, "65520", "4096"},
                      Known{"gather", false, true, false, "65536", "4096"},
                      Known{"scatter", false, true, false, "65536", "4096"},
                      Known{"sendrecv", false, false, false, "65536", "16384"},
                      Known{"hypercube", false, false, true, "65536", "4096"}),
    [](const auto& tested) { return tested.param.name; });

TEST(Checking, FindsAnotherOperation) {
  const std::string preload = "LD_PRELOAD=" STRAIT_BINARY_DIR "/lib/libperf_wrong_sums.so ";
  const Finished finished = run_command(preload + kProgram + " -t 3 -b 64 -e 64 -n 1");
  EXPECT_EQ(finished.exit_code, 7) << finished.output;
  EXPECT_THAT(finished.output, HasSubstr("FAILED"));
  EXPECT_EQ(run_command(preload + kProgram + " -t 3 -b 64 -e 64 -n 1 -o max").exit_code, 0);
}

TEST(Hypercube, MeasuresNothingWithoutAPowerOfTwo) {
  const Finished finished = run_command(program("hypercube") + " -t 3 -b 1K -e 1K");
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_THAT(finished.output, HasSubstr("# note: not for 3 ranks: nothing is measured"));
  EXPECT_TRUE(rows_of(finished.output).empty());
}

TEST(NotInPlace, IsSaidAndNotChecked) {
  const Finished finished = run_command(program("alltoall") + " -t 2 -b 1K -e 1K -n 1");
  EXPECT_THAT(finished.output, HasSubstr("# note: there is no in-place form"));
  EXPECT_EQ(rows_of(finished.output).at(0).at(12), "N/A");
}

TEST(Roots, MustBeRanks) {
  const Finished finished = run_command(program("broadcast") + " -t 2 -r 2");
  EXPECT_EQ(finished.exit_code, 6);
  EXPECT_THAT(finished.output, HasSubstr("-r 2 is no rank of 2"));
}

class Matrix : public ::testing::Test {
 protected:
  Matrix() { std::ofstream(path_) << "0 1000 64\n32 0 0\n4096 16 48\n"; }
  ~Matrix() override { std::filesystem::remove(path_); }

  Finished run(const std::string& arguments, const std::string& more = "") const {
    return run_command("NCCL_TESTS_ALLTOALLV_MATRIX_FILE=" + path_ + " " + more +
                       program("alltoallv") + " " + arguments);
  }

  const std::string path_ =
      ::testing::TempDir() + "strait_matrix" + std::to_string(::getpid()) + ".txt";
};

TEST_F(Matrix, SaysWhoSendsHowMuch) {
  const Finished finished = run("-t 3 -b 8K -e 8K -n 1", "NCCL_TESTS_ALLTOALLV_PRINT_SUMMARY=1 ");
  EXPECT_EQ(finished.exit_code, 0) << finished.output;
  EXPECT_EQ(rows_of(finished.output).at(0).at(0), "4160");  // rank 2 sends 4096 + 16 + 48
  EXPECT_THAT(finished.output,
              AllOf(HasSubstr("# NCCL_TESTS_ALLTOALLV_PRINT_SUMMARY: mode=matrix nranks=3 "
                              "matrix_dim=3 scale=1.000 time_usec="),
                    HasSubstr("#   rank=0 send_bytes=1056 recv_bytes=4128 alg_bw=")));
}

TEST_F(Matrix, IsScaled) {
  const Finished finished = run("-t 3 -b 8K -e 8K -n 1", "NCCL_TESTS_ALLTOALLV_MATRIX_SCALE=0.5 ");
  EXPECT_EQ(rows_of(finished.output).at(0).at(0), "2064");  // 2048 + 0 + 16
}

TEST_F(Matrix, RefusesWhatDoesNotFit) {
  EXPECT_THAT(run("-t 4 -b 8K -e 8K").output, HasSubstr("has rows for 3 ranks but 4 take part"));
  EXPECT_THAT(run("-t 3 -b 4K -e 8K").output, HasSubstr("-b and -e differ"));
  const Finished finished = run("-t 3 -b 4K -e 4K");
  EXPECT_THAT(finished.output, HasSubstr("some rank moves 4160"));
  EXPECT_EQ(finished.exit_code, 6);
}

TEST(Spread, SharesTheTotal) {
  const Finished finished =
      run_command("NCCL_TESTS_ALLTOALLV_SPREAD=0 NCCL_TESTS_ALLTOALLV_PRINT_SUMMARY=1 " +
                  program("alltoallv") + " -t 4 -b 64K -e 64K -n 1");
  EXPECT_EQ(rows_of(finished.output).at(0).at(0), "65536");
  EXPECT_THAT(finished.output, AllOf(HasSubstr("mode=generated nranks=4 total_bytes=65536 spread="),
                                     HasSubstr("rank=3 send_bytes=65536 recv_bytes=65536")));
}

}  // namespace
}  // namespace strait::perf
