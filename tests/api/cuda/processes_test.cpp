// Ranks in processes of their own (rank/rank.cpp): the bits of ranks on hosts, over every way of
// sharing memory, graphs, and a process that is killed.
#include <gmock/gmock.h>

#include "api/cuda/drawn_case.hpp"
#include "api/cuda/unique_id_text.hpp"
#include "perf/run_command.hpp"

namespace strait::test {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

// "%" in the environment stands for the rank.
perf::Finished run_ranks(const std::string& role, int ranks, const std::string& environment,
                         const std::string& more = "") {
  ncclUniqueId id;
  EXPECT_NCCL(ncclGetUniqueId(&id));
  std::string text = "pids=; ";
  for (int rank = 0; rank < ranks; ++rank) {
    std::string own = environment;
    if (const size_t at = own.find('%'); at != std::string::npos)
      own.replace(at, 1, std::to_string(rank));
    text += fmt::format("env {} {}/standin/gpu_rank {} {} {} {} {} & pids=\"$pids $!\"; ", own,
                        STRAIT_BINARY_DIR, role, ranks, rank, text_of(id), more);
  }
  return perf::run_command(text +
                           "bad=0; for pid in $pids; do wait $pid || bad=1; done; exit $bad");
}

// As of an NVLink domain: each rank on a host of its own, and no file descriptor leaves one.
constexpr const char* kNvlinkDomain =
    "STRAIT_HOSTID=host-% STRAIT_STANDIN_FABRIC=ab12/7/3 STRAIT_STANDIN_FD=0";

struct World {
  int ranks;
  const char* domains;
  const char* environment;
};

class GpuProcesses : public testing::TestWithParam<World> {};

TEST_P(GpuProcesses, HaveTheHostsBits) {
  const World world = GetParam();
  constexpr uint64_t kFrom = 1000;
  constexpr uint64_t kTo = 1025;
  const auto found =
      run_ranks("draw", world.ranks,
                fmt::format("STRAIT_EMULATE_DOMAINS={} {}", world.domains, world.environment),
                fmt::format("{} {}", kFrom, kTo));
  ASSERT_EQ(found.exit_code, 0) << found.output;
  for (uint64_t seed = kFrom; seed < kTo; ++seed) {
    Case what = draw_case(seed, world.ranks);
    what.settings["STRAIT_EMULATE_DOMAINS"] = world.domains;
    const auto expected = on_hosts(what);
    for (int rank = 0; rank < world.ranks; ++rank)
      ASSERT_THAT(found.output, HasSubstr(fmt::format("seed {} rank {} {:016x}\n", seed, rank,
                                                      sum_of(expected[static_cast<size_t>(rank)]))))
          << describe(what);
  }
}

TEST_P(GpuProcesses, PutIntoEachOthersWindows) {
  const World world = GetParam();
  const auto found =
      run_ranks("put", world.ranks,
                fmt::format("STRAIT_EMULATE_DOMAINS={} {}", world.domains, world.environment));
  EXPECT_EQ(found.exit_code, 0) << found.output;
}

INSTANTIATE_TEST_SUITE_P(Worlds, GpuProcesses,
                         testing::Values(World{2, "0", ""}, World{4, "0", ""}, World{4, "2", ""},
                                         World{3, "1", ""}, World{3, "0", "STRAIT_STANDIN_VMM=0"},
                                         World{3, "0", kNvlinkDomain},
                                         World{2, "0", "STRAIT_STANDIN_PEER=0"},
                                         World{2, "0", "STRAIT_STANDIN_DEVICES=1"},
                                         World{3, "0", "STRAIT_TRANSPORTS=tcp"}));

// The domain is what NVLink joins, and its ranks write into each other's GPUs.
TEST(GpuProcess, OfAnNvlinkDomainOfSeveralHostsSharesMemoryByFabricHandles) {
  const auto found = run_ranks("call", 3, std::string(kNvlinkDomain) + " STRAIT_DEBUG=INFO");
  EXPECT_EQ(found.exit_code, 0) << found.output;
  EXPECT_THAT(found.output, HasSubstr("communicator of 3 ranks, 1 domain: 0-2"));
  for (int rank = 0; rank < 3; ++rank)
    EXPECT_THAT(
        found.output,
        HasSubstr(fmt::format("rank {} writes into the GPUs of 2 ranks, by fabric handles", rank)));
}

TEST(GpuProcess, WithoutImexSaysSoAndStaysADomainOfItsHost) {
  const auto found =
      run_ranks("call", 2, std::string(kNvlinkDomain) + " STRAIT_STANDIN_IMEX=0 STRAIT_DEBUG=INFO");
  EXPECT_EQ(found.exit_code, 0) << found.output;
  EXPECT_THAT(found.output, HasSubstr("start nvidia-imex on every host of the domain"));
  EXPECT_THAT(found.output, HasSubstr("communicator of 2 ranks, 2 domains: 0 | 1"));
}

TEST(GpuProcess, UsesAnNvlinkDomainAsTheSettingSays) {
  const std::string info = std::string(kNvlinkDomain) + " STRAIT_DEBUG=INFO ";
  const auto off = run_ranks("call", 2, info + "NCCL_MNNVL_ENABLE=0");
  EXPECT_EQ(off.exit_code, 0) << off.output;
  EXPECT_THAT(off.output, HasSubstr("communicator of 2 ranks, 2 domains: 0 | 1"));
  const auto must = run_ranks("call", 2, info + "NCCL_MNNVL_ENABLE=1 STRAIT_STANDIN_IMEX=0");
  EXPECT_THAT(must.output, HasSubstr("cannot share memory with its other hosts"));
  EXPECT_THAT(must.output, testing::Not(HasSubstr("result 0")));
}

TEST(GpuProcess, ReachesOthersThroughTheHostWhereP2pIsDisabled) {
  const auto found = run_ranks("call", 2, "NCCL_P2P_DISABLE=1 STRAIT_DEBUG=INFO");
  EXPECT_EQ(found.exit_code, 0) << found.output;
  EXPECT_THAT(found.output, testing::Not(HasSubstr("writes into the GPUs")));
  EXPECT_THAT(found.output, HasSubstr("STRAIT_P2P_DISABLE asks for it"));
}

TEST(GpuProcess, WithoutMemoryToMapSharesItByIpcHandles) {
  const auto found = run_ranks("call", 2, "STRAIT_STANDIN_VMM=0 STRAIT_DEBUG=INFO");
  EXPECT_EQ(found.exit_code, 0) << found.output;
  EXPECT_THAT(found.output, HasSubstr("rank 0 writes into the GPUs of 1 ranks, by IPC handles"));
}

TEST(GpuProcess, CapturesAndReplays) {
  for (const char* domains : {"0", "1"}) {
    const auto found = run_ranks("replay", 3, fmt::format("STRAIT_EMULATE_DOMAINS={}", domains));
    EXPECT_EQ(found.exit_code, 0) << found.output;
  }
}

TEST(GpuProcess, ThatIsKilledIsNamedByTheOthers) {
  for (const char* domains : {"0", "1"}) {
    const auto found = run_ranks("lose", 3, fmt::format("STRAIT_EMULATE_DOMAINS={}", domains));
    for (int rank = 0; rank < 2; ++rank)
      EXPECT_THAT(found.output, HasSubstr(fmt::format("rank {} was told: ", rank)));
    EXPECT_THAT(found.output, HasSubstr("rank 2"));
    EXPECT_THAT(found.output, testing::Not(HasSubstr("FAILED")));
  }
}

TEST(GpuProcess, OnADeviceWithoutRoomSaysWhatForAndWhatToDo) {
  const auto found =
      run_ranks("call", 2, "STRAIT_STANDIN_MEMORY=8M STRAIT_SLOT_BYTES=4M STRAIT_TIMEOUT_MS=1000");
  EXPECT_THAT(found.output, HasSubstr("CUDA_ERROR_OUT_OF_MEMORY; free device memory, or lower "
                                      "STRAIT_SLOT_BYTES"));
  EXPECT_THAT(found.output, testing::Not(HasSubstr("result 0")));
}

TEST(GpuProcess, WithADriverThatIsTooOldIsToldIfItUsesCuda) {
  const std::string old = "STRAIT_STANDIN_VERSION=11080 ";
  const auto refused = run_ranks("own_context", 1, old);
  EXPECT_THAT(refused.output, HasSubstr("result 1: ncclCommInitRank: the CUDA driver here is 11.8, "
                                        "12.0 is the oldest that works"));
  const auto forced = run_ranks("host", 1, old + "STRAIT_DEVICE=gpu");
  EXPECT_THAT(forced.output, HasSubstr("12.0 is the oldest that works"));
  const auto host = run_ranks("host", 2, old);
  EXPECT_EQ(host.exit_code, 0) << host.output;
  EXPECT_THAT(host.output, HasSubstr("result 0"));
}

TEST(GpuProcess, WithoutADriverIsOnAHostUnlessItMustNot) {
  const std::string none = "STRAIT_CUDA_LIBRARY=/nowhere/libcuda.so.1 ";
  const auto host = run_ranks("host", 2, none);
  EXPECT_EQ(host.exit_code, 0) << host.output;
  const auto forced = run_ranks("host", 1, none + "STRAIT_DEVICE=gpu");
  EXPECT_THAT(forced.output, HasSubstr("result 1: ncclCommInitRank: no CUDA driver here"));
  EXPECT_THAT(forced.output, HasSubstr("install their driver"));
}

}  // namespace
}  // namespace strait::test
