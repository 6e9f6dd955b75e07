// Warp operations against their definitions: all lanes, some lanes, lanes that went apart.
#include "kernel_case.hpp"

namespace strait::simt {
namespace {

constexpr uint32_t kMasks[] = {kAll, 0x0000ffff, 0xaaaaaaaa, 0x80000001, 0x00010000, 0xfffffffe};

bool holds(uint32_t mask, uint32_t lane) {
  return (mask >> lane & 1) != 0;
}

// Where CUDA says that lane `from` of a segment reads.
int source(const std::string& kind, int lane, int argument, int width) {
  const int first = lane / width * width;
  if (kind == "idx") return first + argument % width;
  if (kind == "up") return lane - argument < first ? lane : lane - argument;
  if (kind == "down") return lane + argument >= first + width ? lane : lane + argument;
  return (lane ^ argument) >= first + width ? lane : lane ^ argument;
}

template <class T>
T shuffled(const std::string& kind, uint32_t mask, T value, int argument, int width) {
  if (kind == "idx") return __shfl_sync(mask, value, argument, width);
  if (kind == "up") return __shfl_up_sync(mask, value, static_cast<unsigned>(argument), width);
  if (kind == "down") return __shfl_down_sync(mask, value, static_cast<unsigned>(argument), width);
  return __shfl_xor_sync(mask, value, argument, width);
}

template <class T>
void check_shuffles(T scale) {
  for (const std::string kind : {"idx", "up", "down", "xor"}) {
    for (const int width : {32, 16, 4}) {
      for (const int argument : {0, 1, 3, 5, 31}) {
        std::vector<T> found(32);
        run_all_orders({1, 32}, [&] {
          const T mine = static_cast<T>(threadIdx.x) * scale;
          found[threadIdx.x] = shuffled(kind, kAll, mine, argument, width);
        });
        for (int lane = 0; lane < 32; ++lane) {
          const T wanted = static_cast<T>(source(kind, lane, argument, width)) * scale;
          ASSERT_EQ(found[static_cast<size_t>(lane)], wanted)
              << kind << " " << argument << " width " << width << " lane " << lane;
        }
      }
    }
  }
}

TEST(Warp, ShufflesOfFourBytes) {
  check_shuffles<uint32_t>(0x01010101);
  check_shuffles<float>(-1.5f);
}

TEST(Warp, ShufflesOfEightBytes) {
  check_shuffles<int64_t>(-0x0101010101010101);
  check_shuffles<double>(1e100);
}

TEST(Warp, EachLaneMayReadAnother) {
  std::vector<int> found(32);
  run_all_orders({1, 32}, [&] {
    const int lane = static_cast<int>(threadIdx.x);
    found[threadIdx.x] = __shfl_sync(kAll, 100 + lane, (lane * 7 + 3) % 32);
  });
  for (int lane = 0; lane < 32; ++lane) EXPECT_EQ(found[lane], 100 + (lane * 7 + 3) % 32);
}

TEST(Warp, ALaneOutsideOfTheMaskGivesNothing) {
  uint32_t found = 0;
  run_all_orders({1, 32}, [&] {
    if (threadIdx.x < 2) {
      const uint32_t got = __shfl_sync(3, threadIdx.x, 9);
      if (threadIdx.x == 0) found = got;
    }
  });
  EXPECT_EQ(found, 0xdeadbeef);
}

TEST(Warp, VotesCountTheLanesOfTheMaskAlone) {
  for (const uint32_t mask : kMasks) {
    for (const uint32_t ayes : {0u, kAll, 0x0f0f0f0fu, 1u, 0x80000000u}) {
      run_all_orders({1, 32}, [&] {
        if (!holds(mask, threadIdx.x)) return;
        const int mine = holds(ayes, threadIdx.x) ? 42 : 0;
        EXPECT_EQ(__ballot_sync(mask, mine), mask & ayes);
        EXPECT_EQ(__any_sync(mask, mine), (mask & ayes) != 0);
        EXPECT_EQ(__all_sync(mask, mine), (mask & ayes) == mask);
      });
    }
  }
}

TEST(Warp, MatchesFindTheirEquals) {
  for (const uint32_t mask : kMasks) {
    const auto value = [](uint32_t lane) { return uint64_t{lane % 5} << 40; };
    run_all_orders({1, 32}, [&] {
      if (!holds(mask, threadIdx.x)) return;
      uint32_t same = 0;
      for (uint32_t lane = 0; lane < 32; ++lane) {
        if (holds(mask, lane) && value(lane) == value(threadIdx.x)) same |= 1u << lane;
      }
      EXPECT_EQ(__match_any_sync(mask, value(threadIdx.x)), same);
      int all = -1;
      EXPECT_EQ(__match_all_sync(mask, value(threadIdx.x), &all), same == mask ? mask : 0);
      EXPECT_EQ(all, same == mask);
      EXPECT_EQ(__match_all_sync(mask, 2.5f, &all), mask);
      EXPECT_EQ(all, 1);
    });
  }
}

TEST(Warp, ReductionsGiveAllLanesTheSame) {
  for (const uint32_t mask : kMasks) {
    const auto value = [](uint32_t lane) { return lane * 0x9e3779b9u; };
    uint32_t sum = 0, low = ~0u, high = 0, bits_and = ~0u, bits_or = 0, bits_xor = 0;
    int signed_low = INT32_MAX, signed_high = INT32_MIN;
    for (uint32_t lane = 0; lane < 32; ++lane) {
      if (!holds(mask, lane)) continue;
      sum += value(lane);
      low = std::min(low, value(lane));
      high = std::max(high, value(lane));
      signed_low = std::min(signed_low, static_cast<int>(value(lane)));
      signed_high = std::max(signed_high, static_cast<int>(value(lane)));
      bits_and &= value(lane);
      bits_or |= value(lane);
      bits_xor ^= value(lane);
    }
    run_all_orders({1, 32}, [&] {
      if (!holds(mask, threadIdx.x)) return;
      const uint32_t mine = value(threadIdx.x);
      EXPECT_EQ(__reduce_add_sync(mask, mine), sum);
      EXPECT_EQ(__reduce_add_sync(mask, static_cast<int>(mine)), static_cast<int>(sum));
      EXPECT_EQ(__reduce_min_sync(mask, mine), low);
      EXPECT_EQ(__reduce_max_sync(mask, mine), high);
      EXPECT_EQ(__reduce_min_sync(mask, static_cast<int>(mine)), signed_low);
      EXPECT_EQ(__reduce_max_sync(mask, static_cast<int>(mine)), signed_high);
      EXPECT_EQ(__reduce_and_sync(mask, mine), bits_and);
      EXPECT_EQ(__reduce_or_sync(mask, mine), bits_or);
      EXPECT_EQ(__reduce_xor_sync(mask, mine), bits_xor);
    });
  }
}

// Lanes go apart twice, each group works on its own, and they meet again.
TEST(Warp, NestedDivergence) {
  std::vector<uint32_t> found(64);
  run_all_orders({1, 64}, [&] {
    const uint32_t lane = threadIdx.x % 32;
    uint32_t total = 0;
    if (lane < 16) {
      total = __reduce_add_sync(0x0000ffff, 1u);
      if (lane % 2 == 0) {
        for (int turn = 0; turn < 3; ++turn) total += __popc(__ballot_sync(0x00005555, 1));
      } else {
        total += __shfl_sync(0x0000aaaa, lane, 15);
      }
    } else {
      for (uint32_t turn = 0; turn < lane; ++turn) total += __activemask() >> lane;
    }
    __syncwarp();
    found[threadIdx.x] = __shfl_xor_sync(kAll, total, 1);
  });
  for (uint32_t thread = 0; thread < 64; ++thread) {
    const uint32_t other = (thread ^ 1) % 32;
    const uint32_t wanted = other >= 16 ? other : 16 + (other % 2 == 0 ? 24u : 15u);
    EXPECT_EQ(found[thread], wanted) << thread;
  }
}

// Of 40 threads the second warp has 8: a full mask means these.
TEST(Warp, AFullMaskOfAPartialWarp) {
  run_all_orders({1, 40}, [&] {
    const uint32_t present = threadIdx.x < 32 ? kAll : 0xff;
    EXPECT_EQ(__ballot_sync(kAll, 1), present);
    __syncwarp();
    EXPECT_EQ(__reduce_add_sync(kAll, 1u), static_cast<uint32_t>(__popc(present)));
  });
}

// Shared memory written before __syncwarp is there behind it, whatever the order of the lanes.
TEST(Warp, SyncwarpOrdersSharedMemory) {
  run_all_orders({1, 32}, [&] {
    __shared__ uint32_t cells[32];
    for (uint32_t round = 0; round < 50; ++round) {
      cells[threadIdx.x] = threadIdx.x + round;
      __syncwarp();
      EXPECT_EQ(cells[(threadIdx.x + 11) % 32], (threadIdx.x + 11) % 32 + round);
      __syncwarp();
    }
  });
}

TEST(Warp, OutsideOfALaunchThereIsOneLane) {
  EXPECT_EQ(__shfl_xor_sync(1, 7, 0), 7);
  EXPECT_EQ(__ballot_sync(1, 1), 1u);
  EXPECT_EQ(threadIdx.x, 0u);
  EXPECT_EQ(__syncthreads_count(1), 1);
}

}  // namespace
}  // namespace strait::simt
