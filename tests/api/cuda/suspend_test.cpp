// Suspending communicators on GPUs: what they hold of the GPU falls, they refuse calls meanwhile,
// and afterwards work as before.
#include <gmock/gmock.h>

#include "api/cuda/gpu_graph.hpp"
#include "api/cuda/gpu_window.hpp"

namespace strait::test {
namespace {

using testing::Each;
using testing::HasSubstr;

constexpr size_t kWords = 3000;

uint64_t stat_of(ncclComm_t comm, ncclCommMemStat_t stat) {
  uint64_t bytes = 0;
  EXPECT_NCCL(ncclCommMemStats(comm, stat, &bytes));
  return bytes;
}

// Bytes of the GPU that nobody uses.
size_t free_bytes(const GpuRank& gpu) {
  return must(cuda::free_bytes(gpu.driver(), gpu.context()));
}

// Memory is free when the peers have let go of it too.
bool comes_to(const GpuRank& gpu, size_t bytes) {
  const Deadline deadline = Deadline::after_ms(5'000);
  while (free_bytes(gpu) < bytes && !deadline.passed())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return free_bytes(gpu) >= bytes;
}

// Sums and messages, so that every kind of link is open.
void call_all(int ranks, int rank, const GpuRank& gpu, ncclComm_t comm,
              const cuda::DeviceMemory& words, const cuda::DeviceMemory& came) {
  gpu.fill(words, static_cast<uint32_t>(rank + 1), gpu.handle());
  EXPECT_NCCL(ncclGroupStart());
  EXPECT_NCCL(ncclSend(words.data(), kWords, ncclUint32, (rank + 1) % ranks, comm, gpu.stream()));
  EXPECT_NCCL(
      ncclRecv(came.data(), kWords, ncclUint32, (rank + ranks - 1) % ranks, comm, gpu.stream()));
  EXPECT_NCCL(ncclGroupEnd());
  EXPECT_NCCL(
      ncclAllReduce(words.data(), words.data(), kWords, ncclUint32, ncclSum, comm, gpu.stream()));
  EXPECT_DONE(gpu.wait());
  EXPECT_THAT(gpu.words_in(words), Each(static_cast<uint32_t>(ranks * (ranks + 1) / 2)));
  EXPECT_THAT(gpu.words_in(came), Each(static_cast<uint32_t>((rank + ranks - 1) % ranks + 1)));
}

TEST(GpuSuspend, GivesBackTheGpusMemory) {
  for (const auto& settings :
       {Settings{}, Settings{{"STRAIT_EMULATE_DOMAINS", "2"}}, Settings{{"NCCL_P2P_DISABLE", "1"}}})
    run_gpus(3, 3, settings, [&](int rank, GpuRank& gpu, ncclComm_t comm) {
      const bool rings = !settings.contains("NCCL_P2P_DISABLE");
      const auto words = gpu.words(kWords, 0);
      const auto came = gpu.words(kWords, 0);
      for (int round = 0; round < 4; ++round) {
        call_all(3, rank, gpu, comm, words, came);
        const uint64_t held = stat_of(comm, ncclStatGpuMemSuspend);
        const size_t before = free_bytes(gpu);
        EXPECT_EQ(stat_of(comm, ncclStatGpuMemTotal), held + stat_of(comm, ncclStatGpuMemPersist));
        EXPECT_NCCL(ncclCommSuspend(comm, NCCL_SUSPEND_MEM));
        EXPECT_EQ(stat_of(comm, ncclStatGpuMemSuspended), 1U);
        EXPECT_EQ(stat_of(comm, ncclStatGpuMemSuspend), 0U);
        if (rings && rank < 2) {
          EXPECT_GE(held, size_t{2} << 20) << "a ring at least";
          EXPECT_TRUE(comes_to(gpu, before + (size_t{2} << 20)));
        }
        EXPECT_EQ(ncclAllReduce(words.data(), words.data(), kWords, ncclUint32, ncclSum, comm,
                                gpu.stream()),
                  ncclInvalidUsage);
        EXPECT_NCCL(ncclCommResume(comm));
      }
      call_all(3, rank, gpu, comm, words, came);
    });
}

// Windows and their signals stay.
TEST(GpuSuspend, KeepsWindows) {
  run_gpus(2, 2, {}, [](int rank, GpuRank& gpu, ncclComm_t comm) {
    const GpuWindow window(gpu, comm, 4096);
    const auto value = gpu.words(1, static_cast<uint32_t>(rank + 5));
    EXPECT_NCCL(ncclCommSuspend(comm, NCCL_SUSPEND_MEM));
    EXPECT_NCCL(ncclCommResume(comm));
    ncclWaitSignalDesc_t wait = {1, 1 - rank, 0, 0};
    EXPECT_NCCL(ncclPutSignal(value.data(), 1, ncclUint32, 1 - rank, window.name(), 0, 0, 0, 0,
                              comm, gpu.stream()));
    EXPECT_NCCL(ncclWaitSignal(1, &wait, comm, gpu.stream()));
    EXPECT_DONE(gpu.wait());
    EXPECT_EQ(window.words(0, 1)[0], static_cast<uint32_t>(6 - rank));
    window.meet(gpu);
  });
}

// A replay would use what is given back: all ranks refuse, whoever has the graph.
TEST(GpuSuspend, IsRefusedWhileGraphsHoldCalls) {
  run_gpus(2, 2, {}, [](int rank, GpuRank& gpu, ncclComm_t comm) {
    const auto words = gpu.words(kWords, 1);
    const auto sum = [&] {
      EXPECT_NCCL(ncclAllReduce(words.data(), words.data(), kWords, ncclUint32, ncclSum, comm,
                                gpu.stream()));
    };
    {
      const Graph graph(gpu, sum);
      EXPECT_EQ(ncclCommSuspend(comm, NCCL_SUSPEND_MEM), ncclInvalidUsage);
      EXPECT_THAT(ncclGetLastError(comm), HasSubstr("graphs with 1 calls"));
      graph.replay(gpu.handle());
      EXPECT_DONE(gpu.wait());
    }
    sum();
    EXPECT_DONE(gpu.wait());
    EXPECT_THAT(gpu.words_in(words), Each(4U));
    // Both ranks' graphs are gone.
    sum();
    EXPECT_DONE(gpu.wait());
    EXPECT_NCCL(ncclCommSuspend(comm, NCCL_SUSPEND_MEM)) << rank;
    EXPECT_NCCL(ncclCommResume(comm));
  });
}

}  // namespace
}  // namespace strait::test
