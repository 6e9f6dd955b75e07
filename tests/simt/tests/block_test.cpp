// Blocks and grids: indices, barriers, shared memory, atomics, many blocks.
#include <atomic>
#include <numeric>

#include "kernel_case.hpp"

namespace strait::simt {
namespace {

TEST(Block, EachThreadOfTheGridRunsOnce) {
  const Dim3 grid{3, 2, 2}, block{5, 3, 4};
  std::vector<int> seen(12 * 60);
  ASSERT_TRUE(run({grid, block}, [&] {
                EXPECT_EQ(gridDim.y * 10 + blockDim.z, 24u);
                const uint32_t in_block = threadIdx.x + 5 * (threadIdx.y + 3 * threadIdx.z);
                const uint32_t number = blockIdx.x + 3 * (blockIdx.y + 2 * blockIdx.z);
                EXPECT_EQ(thread_place->lane, in_block % 32);
                ++seen[number * 60 + in_block];
              }).ok());
  EXPECT_THAT(seen, testing::Each(1));
}

TEST(Block, BarriersKeepThreadsTogether) {
  std::vector<uint32_t> cells(1000);
  run_all_orders({1, 1000}, [&] {
    for (uint32_t round = 0; round < 20; ++round) {
      cells[threadIdx.x] = threadIdx.x * round;
      __syncthreads();
      const uint32_t other = (threadIdx.x + 501) % 1000;
      EXPECT_EQ(cells[other], other * round);
      __syncthreads();
    }
  });
}

TEST(Block, BarriersVote) {
  run_all_orders({1, 96}, [&] {
    EXPECT_EQ(__syncthreads_count(threadIdx.x % 3 == 0), 32);
    EXPECT_EQ(__syncthreads_and(threadIdx.x < 95), 0);
    EXPECT_EQ(__syncthreads_and(threadIdx.x < 96), 1);
    EXPECT_EQ(__syncthreads_or(threadIdx.x == 95), 1);
    EXPECT_EQ(__syncthreads_or(0), 0);
  });
}

TEST(Block, SharedVariablesAreTheBlocksOwn) {
  std::vector<uint32_t> found(64);
  ASSERT_TRUE(run({64, 64}, [&] {
                __shared__ uint32_t cells[64];
                cells[threadIdx.x] = blockIdx.x * 1000 + threadIdx.x;
                __syncthreads();
                if (threadIdx.x == 0) {
                  found[blockIdx.x] = std::accumulate(cells, cells + 64, 0u);
                }
              }).ok());
  for (uint32_t block = 0; block < 64; ++block) EXPECT_EQ(found[block], 64'000 * block + 63 * 32);
}

TEST(Block, DynamicSharedMemoryIsPoisonedForEachBlock) {
  ASSERT_TRUE(run({8, 32, 4096}, [&] {
                auto* bytes = block_place.dynamic_shared;
                EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes) % 128, 0u);
                for (uint32_t at = threadIdx.x; at < 4096; at += 32) {
                  EXPECT_EQ(bytes[at], 0xcb);
                  bytes[at] = 1;
                }
              }).ok());
}

TEST(Block, SharedVariablesArePoisonedForEachBlock) {
  ASSERT_TRUE(run({50, 32}, [&] {
                __shared__ uint32_t cells[32];
                EXPECT_EQ(cells[threadIdx.x], 0xcbcbcbcb);
                cells[threadIdx.x] = 7;
              }).ok());
}

TEST(Block, AtomicsAddUpOverBlocks) {
  uint32_t sum = 0, low = 1000, high = 0, bits = 0, wraps = 0;
  unsigned long long wide = 0;
  int signed_low = 0;
  float total = 0;
  ASSERT_TRUE(run({16, 128}, [&] {
                const uint32_t at = blockIdx.x * 128 + threadIdx.x;
                atomicAdd(&sum, 3u);
                atomicAdd(&wide, 1ull << 33);
                atomicAdd(&total, 0.5f);
                atomicMin(&low, at + 5);
                atomicMax(&high, at);
                atomicMin(&signed_low, -static_cast<int>(at));
                atomicOr(&bits, 1u << at % 32);
                atomicInc(&wraps, 6u);
              }).ok());
  EXPECT_EQ(sum, 3u * 2048);
  EXPECT_EQ(wide, 2048ull << 33);
  EXPECT_EQ(total, 1024.0f);
  EXPECT_EQ(low, 5u);
  EXPECT_EQ(high, 2047u);
  EXPECT_EQ(signed_low, -2047);
  EXPECT_EQ(bits, kAll);
  EXPECT_EQ(wraps, 2048u % 7);
}

TEST(Block, AtomicsGiveWhatWasThere) {
  uint32_t cell = 12;
  uint64_t wide = 7;
  EXPECT_EQ(atomicExch(&cell, 5u), 12u);
  EXPECT_EQ(atomicCAS(&cell, 4u, 9u), 5u);
  EXPECT_EQ(atomicCAS(&cell, 5u, 9u), 5u);
  EXPECT_EQ(atomicSub(&cell, 1u), 9u);
  EXPECT_EQ(atomicAnd(&cell, 12u), 8u);
  EXPECT_EQ(atomicXor(&cell, 3u), 8u);
  EXPECT_EQ(atomicDec(&cell, 20u), 11u);
  EXPECT_EQ(cell, 10u);
  EXPECT_EQ(atomicCAS_system(&wide, 7u, 1ull << 50), 7u);
  EXPECT_EQ(wide, uint64_t{1} << 50);
}

// A lock that each thread of each block takes in turn: who waits must let the holder go on.
TEST(Block, ASpinLockPassesThroughAllThreads) {
  uint32_t lock = 0, count = 0;
  ASSERT_TRUE(run({4, 64}, [&] {
                while (atomicCAS(&lock, 0u, 1u) != 0) {
                }
                __threadfence();
                const uint32_t seen = count;
                __nanosleep(10);
                count = seen + 1;
                __threadfence();
                atomicExch(&lock, 0u);
              }).ok());
  EXPECT_EQ(count, 256u);
}

// The last of many blocks is what all others wait for: they make room for it.
TEST(Block, BlocksRunBesideEachOther) {
  uint32_t arrived = 0;
  const Status status = run({100, 32}, [&] {
    if (threadIdx.x == 0) {
      atomicAdd(&arrived, 1u);
      while (atomicAdd(&arrived, 0u) < 100) __nanosleep(100);
    }
    __syncwarp();
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(Block, ManyMoreBlocksThanRunAtOnce) {
  std::atomic<uint32_t> count{0};
  ASSERT_TRUE(run({20'000, 32}, [&] { count += threadIdx.x == 0; }, {.blocks_at_once = 4}).ok());
  EXPECT_EQ(count, 20'000u);
}

// Warps poll shared memory for each other, and read nothing but what was stored.
TEST(Block, WarpsWaitForEachOtherInSharedMemory) {
  run_all_orders({1, 256}, [&] {
    __shared__ uint32_t turn;
    if (threadIdx.x == 0) turn = 0;
    __syncthreads();
    const uint32_t warp = threadIdx.x / 32;
    if (threadIdx.x % 32 == 0) {
      while (atomicAdd(&turn, 0u) != 7 - warp) {
      }
      atomicAdd(&turn, 1u);
    }
    __syncthreads();
    EXPECT_EQ(turn, 8u);
  });
}

TEST(Block, AClockGoesOn) {
  ASSERT_TRUE(run({1, 64}, [&] {
                const long long start = clock64();
                while (clock64() - start < 1'000'000) {
                }
              }).ok());
}

}  // namespace
}  // namespace strait::simt
