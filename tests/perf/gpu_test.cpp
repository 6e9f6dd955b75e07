// Measuring programs whose ranks sit on GPUs, of the stand-in driver: threads and processes, every
// program, graphs, and what they refuse.
#include <gmock/gmock.h>

#include "perf/processes.hpp"
#include "perf/run_command.hpp"

namespace strait::perf {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kGpus = "STRAIT_DEVICE=auto STRAIT_CUDA_LIBRARY=" STRAIT_BINARY_DIR
                          "/standin/libcuda.so.1 STRAIT_NVML_LIBRARY=" STRAIT_BINARY_DIR
                          "/standin/libnvidia-ml.so.1 STRAIT_STANDIN_DEVICES=4 ";

const auto kIsRight = HasSubstr("# Out of bounds values : 0 OK");

Finished run(const std::string& name, const std::string& arguments) {
  return run_command(kGpus + program(name) + " " + arguments);
}

TEST(GpuPrograms, AllAreRight) {
  for (const char* name : {"all_reduce", "all_gather", "broadcast", "reduce", "reduce_scatter",
                           "alltoall", "alltoallv", "gather", "scatter", "sendrecv", "hypercube"}) {
    const Finished finished = run(name, "-t 2 -g 2 -b 8 -e 32K -f 64 -n 2 -d bfloat16 --racks 2");
    EXPECT_EQ(finished.exit_code, 0) << name << "\n" << finished.output;
    EXPECT_THAT(finished.output, AllOf(kIsRight, HasSubstr("device  3 [0000:13:00.0] Stand-in GPU"),
                                       Not(HasSubstr("[host]"))))
        << name;
  }
}

TEST(GpuPrograms, EveryWayOfRunningIsRight) {
  for (const char* way :
       {"-y 1", "-m 3", "-u 1", "-z 3", "-R 1", "-R 2", "--median", "-p 1", "-o all", "-G 1",
        "-G 3", "-G 2 -m 2", "-G 2 -o mulsum", "--data normal --per-link --racks 2 -G 2"}) {
    const Finished finished = run("all_reduce", "-g 4 -b 4K -e 4K -n 2 " + std::string(way));
    EXPECT_EQ(finished.exit_code, 0) << way << "\n" << finished.output;
    EXPECT_THAT(finished.output, kIsRight) << way;
  }
}

// Ranks beyond the last GPU share.
TEST(GpuPrograms, ProcessesSitOnOneGpuAfterTheOther) {
  const Finished finished =
      run_command(in_processes(3, kGpus + program("all_reduce") + " -t 2 -b 1K -e 1K -n 2 -G 1"));
  EXPECT_EQ(occurrences(finished.output, " ended with 0"), 3) << finished.output;
  for (const char* place : {"Rank  3 Group  0", "device  3 [0000:13:00.0]"})
    EXPECT_THAT(finished.output, HasSubstr(place));
  EXPECT_EQ(occurrences(finished.output, "device  0 [0000:10:00.0]"), 2) << finished.output;
}

TEST(GpuPrograms, FirstDeviceAndHostAreTheUsersToChoose) {
  EXPECT_THAT(
      run_command("NCCL_TESTS_DEVICE=2 " + kGpus + program("all_reduce") + " -t 2 -b 64 -e 64 -n 1")
          .output,
      AllOf(kIsRight, HasSubstr("device  2 [0000:12:00.0]"),
            HasSubstr("device  3 [0000:13:00.0]")));
  EXPECT_THAT(
      run_command(kGpus + "STRAIT_DEVICE=host " + program("all_reduce") + " -t 2 -b 64 -e 64 -n 1")
          .output,
      AllOf(kIsRight, HasSubstr("device  1 [host]")));
}

TEST(GpuPrograms, RanksOfAProcessDoNotShareANullStream) {
  const Finished finished = run("all_reduce", "-t 5 -y 1 -b 64 -e 64");
  EXPECT_EQ(finished.exit_code, 5);
  EXPECT_THAT(finished.output, HasSubstr("-y 1: ranks 0 and 4 share the NULL stream of GPU 0"));
}

TEST(GpuPrograms, WithoutAGpuSayWhatIsMissing) {
  const Finished finished =
      run_command("STRAIT_DEVICE=gpu STRAIT_CUDA_LIBRARY=libno-such-driver.so.1 " +
                  program("all_reduce") + " -t 2 -b 64 -e 64");
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.output, HasSubstr("libno-such-driver.so.1"));
}

TEST(GpuPrograms, CommunicatorsAreTimedOnGpus) {
  for (const char* test : {"init", "split", "shrink", "grow"}) {
    const Finished finished = run("comm_ops", std::string(test) + " -t 4");
    EXPECT_EQ(finished.exit_code, 0) << test << "\n" << finished.output;
    EXPECT_THAT(finished.output, HasSubstr("ncclAllReduce")) << test;
  }
}

}  // namespace
}  // namespace strait::perf
