// comm_ops_perf: communicators made, split, shrunk and grown, in threads and processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "perf/processes.hpp"
#include "perf/run_command.hpp"

namespace strait::perf {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Finished run(const std::string& arguments) {
  return run_command(program("comm_ops") + " " + arguments);
}

TEST(CommOps, SumUpEachOperation) {
  const Finished finished = run("init -t 4 -i 3");
  EXPECT_EQ(finished.exit_code, 0) << finished.output;
  EXPECT_THAT(finished.output,
              AllOf(HasSubstr("SUMMARY: Comm size    4, "),
                    HasSubstr("NCCL ncclCommInitRankScalable: Max "),
                    HasSubstr("SUMMARY: Comm size    2, "), HasSubstr(" ms, Stddev "),
                    HasSubstr(" ms, Collectives   3"), Not(HasSubstr("Barrier"))));
}

TEST(CommOps, RunEveryTestInThreads) {
  for (const char* test : {"init", "split", "shrink", "grow"})
    for (const char* way : {"", " -S", " -a", " -R 2 -F 100 -A"}) {
      const std::string arguments = std::string(test) + " -t 5 -i 1" + way;
      const Finished finished = run(arguments);
      EXPECT_EQ(finished.exit_code, 0) << arguments << "\n" << finished.output;
    }
}

TEST(CommOps, RunEveryTestInProcesses) {
  for (const char* test : {"init -R 1", "split -r step-1", "shrink", "grow -r factor-3"}) {
    const Finished finished =
        run_command(in_processes(3, program("comm_ops") + " " + test + " -i 1 -s fixed"));
    EXPECT_EQ(occurrences(finished.output, "ended with 0"), 3) << test << "\n" << finished.output;
    EXPECT_THAT(finished.output, HasSubstr("SUMMARY: Comm size    3, "));
  }
}

TEST(CommOps, TellEachEventWhenAsked) {
  const Finished finished = run("split -t 3 -s fixed -i 1 -v -A");
  EXPECT_THAT(finished.output,
              AllOf(HasSubstr("(Launcher) Barrier: Max "), HasSubstr("NCCL ncclCommSplit: Max "),
                    HasSubstr(" ms, [   3/   3]")));
}

TEST(CommOps, FindWrongSums) {
  const Finished finished =
      run_command("LD_PRELOAD=" STRAIT_BINARY_DIR "/lib/libperf_wrong_sums.so " +
                  program("comm_ops") + " init -t 3 -s fixed");
  EXPECT_EQ(finished.exit_code, 7) << finished.output;
  EXPECT_THAT(finished.output, HasSubstr("elements of all-reduces were wrong"));
}

TEST(CommOps, RefuseUnknownWords) {
  EXPECT_EQ(run("melt").exit_code, 6);
  EXPECT_EQ(run("init --frobnicate").exit_code, 6);
  EXPECT_EQ(run("-h").exit_code, 0);
}

}  // namespace
}  // namespace strait::perf
