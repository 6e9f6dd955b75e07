// A measuring program in several processes, under each launcher there is.
#include "perf/processes.hpp"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include "perf/run_command.hpp"

namespace strait::perf {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kArguments = " -b 1K -e 64K -f 64 -n 3 -d bfloat16";

std::string four_processes(const std::string& arguments, const std::string& master = "127.0.0.1") {
  return in_processes(4, kProgram + " " + arguments, master);
}

bool has_program(const char* name) {
  return run_command(std::string("command -v ") + name).exit_code == 0;
}

TEST(Processes, MeetUnderTorchrunsVariables) {
  for (const char* master : {"127.0.0.1", "::1", "localhost"}) {
    const Finished finished = run_command(four_processes(kArguments, master));
    EXPECT_EQ(occurrences(finished.output, "ended with 0"), 4) << finished.output;
    EXPECT_EQ(occurrences(finished.output, "# Using devices"), 1) << "only rank 0 prints";
    EXPECT_THAT(finished.output, AllOf(HasSubstr("#  Rank  3 Group"), HasSubstr("0 OK")));
  }
}

TEST(Processes, HoldSeveralRanksEach) {
  const Finished finished = run_command(four_processes(std::string("-t 2 -g 2") + kArguments));
  EXPECT_EQ(occurrences(finished.output, "ended with 0"), 4) << finished.output;
  EXPECT_THAT(finished.output, HasSubstr("#  Rank 15 Group"));
}

TEST(Processes, RefuseRacksThatDoNotDivideOnEveryRank) {
  const Finished finished = run_command(four_processes("--racks 3"), 10);
  EXPECT_EQ(occurrences(finished.output, "ended with 6"), 4) << finished.output;
  EXPECT_EQ(occurrences(finished.output, "--racks 3 does not divide the 4 ranks"), 4);
}

TEST(Processes, AgreeInTwoRacks) {
  const Finished finished = run_command(four_processes(std::string("--racks 2") + kArguments));
  EXPECT_EQ(occurrences(finished.output, "ended with 0"), 4) << finished.output;
  EXPECT_THAT(finished.output, AllOf(HasSubstr("rack 1"), HasSubstr("0 OK")));
}

// Between racks all goes over UCX, plain and compressed, where UCX is.
TEST(Processes, AgreeOverUcx) {
#if !__has_include(<ucp/api/ucp.h>)
  GTEST_SKIP() << "this build has no UCX";
#endif
  const std::string command = "env STRAIT_TRANSPORTS=ucx STRAIT_DEBUG=INFO STRAIT_COMPRESS=";
  for (const char* compress : {"off", "fast"}) {
    const Finished finished = run_command(
        in_processes(4, command + compress + " " + kProgram + " --racks 2 -c 1" + kArguments));
    EXPECT_EQ(occurrences(finished.output, "ended with 0"), 4) << finished.output;
    EXPECT_THAT(finished.output, AllOf(HasSubstr("0 OK"), HasSubstr(" ucx"))) << compress;
  }
}

TEST(Processes, OneDeathEndsAll) {
  const std::string pids = ::testing::TempDir() + "strait_pids" + std::to_string(::getpid());
  const std::string port = std::to_string(next_port());
  std::string script;
  for (const char* rank : {"1", "2", "3", "0"})
    script += std::string("(RANK=") + rank +
              " WORLD_SIZE=4 MASTER_ADDR=127.0.0.1 MASTER_PORT=" + port + " " + kProgram +
              " -b 1K -e 1K -n 1000000000 & echo $! > " + pids + rank + "; wait $!; echo rank " +
              rank + " ended with $?) & ";
  script += "sleep 3; kill -9 $(cat " + pids + "2); wait";
  const Finished finished = run_command(script, 40);
  EXPECT_NE(finished.exit_code, 124) << "somebody hung\n" << finished.output;
  EXPECT_EQ(occurrences(finished.output, "ended with 3"), 3) << finished.output;
  EXPECT_THAT(finished.output, HasSubstr("rank 2"));
}

TEST(Processes, SayWhoIsMissing) {
  const std::string port = std::to_string(next_port());
  const Finished finished = run_command(
      "STRAIT_INIT_TIMEOUT_MS=500 RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=" + port +
          " " + kProgram,
      20);
  EXPECT_EQ(finished.exit_code, 3);
  EXPECT_THAT(finished.output, HasSubstr("did not come in time: rank 1"));
}

TEST(Processes, RunUnderOpenMpi) {
  if (!has_program("mpirun.openmpi")) GTEST_SKIP() << "mpirun.openmpi is not installed";
  const std::string mpirun =
      "mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none -np 8 ";
  const Finished finished = run_command(mpirun + kProgram + kArguments);
  EXPECT_EQ(finished.exit_code, 0) << finished.output;
  EXPECT_THAT(finished.output, AllOf(HasSubstr("started by Open MPI"), HasSubstr("0 OK")));
  EXPECT_THAT(finished.output, HasSubstr("#  Rank  7 Group"));
  const Finished refused = run_command(mpirun + kProgram + " --racks 3");
  EXPECT_NE(refused.exit_code, 0);
  // The first to end may have mpirun end the others before they have spoken.
  EXPECT_GE(occurrences(refused.output, "--racks 3 does not divide the 8 ranks"), 1);
}

TEST(Processes, RunUnderMpich) {
  if (!has_program("mpirun.mpich")) GTEST_SKIP() << "mpirun.mpich is not installed";
  const Finished finished = run_command("mpirun.mpich -np 8 " + kProgram + kArguments);
  EXPECT_EQ(finished.exit_code, 0) << finished.output;
  EXPECT_THAT(finished.output, AllOf(HasSubstr("started by MPICH"), HasSubstr("0 OK")));
  const Finished refused = run_command("mpirun.mpich -np 8 " + kProgram + " --nonsense");
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_EQ(occurrences(refused.output, "--nonsense"), 1) << refused.output;
}

}  // namespace
}  // namespace strait::perf
