// Communicators made from others, of ranks on GPUs: they are on the same GPUs, and what the parent
// has under way does not matter.
#include <gmock/gmock.h>

#include <barrier>

#include "api/cuda/gpu_rank.hpp"

namespace strait::test {
namespace {

using testing::Each;

constexpr size_t kWords = 3000;

// The sum of one from each rank.
void expect_sum(GpuRank& gpu, ncclComm_t comm, uint32_t ranks) {
  const auto words = gpu.words(kWords, 1);
  EXPECT_NCCL(
      ncclAllReduce(words.data(), words.data(), kWords, ncclUint32, ncclSum, comm, gpu.stream()));
  EXPECT_DONE(gpu.wait());
  EXPECT_THAT(gpu.words_in(words), Each(ranks));
}

TEST(GpuChildren, OfASplitSumOnTheirGpus) {
  for (const int share : {0, 1})
    run_gpus(4, 4, {}, [share](int rank, GpuRank& gpu, ncclComm_t comm) {
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      config.splitShare = share;
      ncclComm_t child = nullptr;
      EXPECT_NCCL(ncclCommSplit(comm, rank / 3, -rank, &child, &config));
      int device = -1;
      EXPECT_NCCL(ncclCommCuDevice(child, &device));
      EXPECT_EQ(device, rank);
      expect_sum(gpu, child, rank < 3 ? 3 : 1);
      expect_sum(gpu, comm, 4);
      expect_sum(gpu, child, rank < 3 ? 3 : 1);
      EXPECT_NCCL(ncclCommDestroy(child));
    });
}

TEST(GpuChildren, AShrunkOneGoesOnWithoutTheExcluded) {
  for (const int flags : {NCCL_SHRINK_DEFAULT, NCCL_SHRINK_ABORT})
    run_gpus(3, 3, {}, [flags](int rank, GpuRank& gpu, ncclComm_t comm) {
      if (rank == 1) return;
      int excluded = 1;
      ncclComm_t child = nullptr;
      EXPECT_NCCL(ncclCommShrink(comm, &excluded, 1, &child, nullptr, flags));
      expect_sum(gpu, child, 2);
      EXPECT_NCCL(ncclCommDestroy(child));
    });
}

TEST(GpuChildren, AGrownOneHasTheNewRanksGpusToo) {
  const Environment environment(Settings{});
  ncclUniqueId first;
  ASSERT_EQ(ncclGetUniqueId(&first), ncclSuccess);
  ncclUniqueId later{};
  std::barrier told(4);
  on_threads(4, [&](int rank) {
    GpuRank gpu(rank);
    ncclComm_t comm = nullptr;
    if (rank < 2) {
      EXPECT_NCCL(ncclCommInitRank(&comm, 2, first, rank));
    }
    if (rank == 0) {
      EXPECT_NCCL(ncclCommGetUniqueId(comm, &later));
    }
    told.arrive_and_wait();
    ncclComm_t grown = nullptr;
    const bool is_new = rank >= 2;
    EXPECT_NCCL(ncclCommGrow(comm, 4, is_new || rank == 0 ? &later : nullptr, is_new ? rank : -1,
                             &grown, nullptr));
    int device = -1;
    EXPECT_NCCL(ncclCommCuDevice(grown, &device));
    EXPECT_EQ(device, rank);
    expect_sum(gpu, grown, 4);
    EXPECT_NCCL(ncclCommDestroy(grown));
    if (comm != nullptr) {
      EXPECT_NCCL(ncclCommDestroy(comm));
    }
  });
}

}  // namespace
}  // namespace strait::test
