// ncclGroupSimulateEnd on GPUs: the rates of GPUs and of what joins them.
#include "api/cuda/gpu_rank.hpp"
#include "comm/gpu_rates.hpp"

namespace strait::test {
namespace {

constexpr size_t kWords = 16 << 20;  // 64 MiB

// Of an all-reduce on each rank; nothing of it is carried out.
float estimate_us(int ranks, const Settings& settings, size_t words) {
  float estimated = 0;
  run_gpus(ranks, 4, settings, [&](int rank, GpuRank& gpu, ncclComm_t comm) {
    const auto memory = gpu.words(1, 7);  // its bytes are not looked at
    ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
    EXPECT_NCCL(ncclGroupStart());
    EXPECT_NCCL(ncclAllReduce(memory.data(), memory.data(), words, ncclUint32, ncclSum, comm,
                              gpu.stream()));
    EXPECT_NCCL(ncclGroupSimulateEnd(&info));
    EXPECT_GT(info.estimatedTime, 0);
    if (rank == 0) estimated = info.estimatedTime;
    EXPECT_DONE(gpu.wait());
    EXPECT_EQ(gpu.words_in(memory)[0], 7U);
  });
  return estimated;
}

TEST(GpuSimulate, GpusThatReachEachOtherAreFasterThanByTheHost) {
  const float direct_us = estimate_us(4, {}, kWords);
  const float by_host_us = estimate_us(4, {{"NCCL_P2P_DISABLE", "1"}}, kWords);
  const float between_us = estimate_us(4, {{"STRAIT_EMULATE_DOMAINS", "2"}}, kWords);
  // Each pair of ranks moves 32 MiB each way: by NVLink of hundreds of GB/s, by the host's memory
  // at 8 GB/s; and each rank as much to the other domain by TCP at 1.2 GB/s, if smaller by a third.
  EXPECT_LT(direct_us, 3'000);
  EXPECT_GT(by_host_us, 4'000);
  EXPECT_GT(between_us, 15'000);
}

TEST(GpuSimulate, SmallCallsTakeAKernelsTime) {
  const float small_us = estimate_us(4, {}, 256);
  EXPECT_GT(small_us, kKernelUs);
  EXPECT_LT(small_us, 40);
}

TEST(GpuSimulate, RatesFollowTheArchitecture) {
  EXPECT_EQ(rates_of(9, 0).nvlink, 450);
  EXPECT_EQ(rates_of(10, 3).nvlink, 900);
  EXPECT_EQ(rates_of(8, 0).nvlink, 300);
  EXPECT_EQ(rates_of(8, 9).nvlink, 0);
  EXPECT_EQ(rates_of(12, 0).nvlink, 0);
  EXPECT_EQ(rates_of(7, 0).memory, 900);
  EXPECT_EQ(rates_of(6, 1).memory, 900) << "older than any known";
  EXPECT_EQ(rates_of(13, 0).pcie, 50) << "newer than any known";
}

}  // namespace
}  // namespace strait::test
