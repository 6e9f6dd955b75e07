// What a GPU would hang at, or let pass on a lucky day, is one sentence here.
#include <chrono>

#include "kernel_case.hpp"

namespace strait::simt {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Failure, ABarrierThatSomeNeverReach) {
  EXPECT_THAT(failure_of({1, 64, 0, "apart"},
                         [] {
                           if (threadIdx.x != 40) __syncthreads();
                         }),
              AllOf(HasSubstr("apart: block (0,0,0), thread (40,0,0): returned while"),
                    HasSubstr("wait at __syncthreads")));
  EXPECT_THAT(failure_of({{2, 1, 1}, 64},
                         [] {
                           if (threadIdx.x >= 3) __syncthreads();
                         }),
              HasSubstr("came to __syncthreads after 3 threads of its block had returned"));
}

TEST(Failure, BarriersThatNobodyOpens) {
  EXPECT_THAT(failure_of({1, 64},
                         [] {
                           const auto id = 1 + threadIdx.x / 32;
                           barrier(id, 64, BarrierVote::kNone, false);
                         }),
              AllOf(HasSubstr("no thread can go on"), HasSubstr("each of threads 0-31"),
                    HasSubstr("waits at named barrier 2 (32 of 64 have come)")));
  EXPECT_THAT(failure_of({1, 64}, [] { barrier(1, 40, BarrierVote::kNone, false); }),
              HasSubstr("came to barrier 1 of 40 threads"));
  EXPECT_THAT(failure_of({1, 128},
                         [] {
                           const auto wanted = threadIdx.x < 64 ? 96u : 128u;
                           barrier(1, wanted, BarrierVote::kNone, false);
                         }),
              HasSubstr("came to named barrier 1 of 128 threads, where others wait for 96"));
}

TEST(Failure, ALaneOfTheMaskReturned) {
  EXPECT_THAT(failure_of({1, 32},
                         [] {
                           if (threadIdx.x != 7) __shfl_sync(kAll, 1, 0);
                         }),
              AllOf(HasSubstr("thread (7,0,0): returned while lane 0 waits for it in __shfl_sync"),
                    HasSubstr("(mask 0xffffffff)")));
  EXPECT_THAT(failure_of({1, 32},
                         [] {
                           if (threadIdx.x > 2) __syncwarp();
                         }),
              HasSubstr("thread (3,0,0): __syncwarp (mask 0xffffffff) names lane 0, which has "
                        "returned"));
}

TEST(Failure, LanesAtDifferentOperations) {
  EXPECT_THAT(failure_of({1, 32},
                         [] {
                           if (threadIdx.x < 31) {
                             __ballot_sync(kAll, 1);
                           } else {
                             __any_sync(kAll, 1);
                           }
                         }),
              AllOf(HasSubstr("thread (31,0,0): came to __any_sync"),
                    HasSubstr("lane 0, and that lane waits in __ballot_sync")));
  EXPECT_THAT(failure_of({1, 32},
                         [] {
                           if (threadIdx.x < 16) {
                             __shfl_sync(kAll, 1, 0);
                           } else {
                             __syncthreads();
                           }
                         }),
              AllOf(HasSubstr("thread (0,0,0): __shfl_sync (mask 0xffffffff) waits for lane 16"),
                    HasSubstr("which waits at __syncthreads (16 of 32 have come)")));
}

TEST(Failure, DifferentMasks) {
  EXPECT_THAT(failure_of({1, 32},
                         [] {
                           if (threadIdx.x == 0) __syncwarp(0x3);
                           if (threadIdx.x == 1) __syncwarp(0x7);
                           if (threadIdx.x == 2) __syncwarp(0x7);
                         }),
              AllOf(HasSubstr("__syncwarp (mask 0x00000007), which names lane 0"),
                    HasSubstr("waits in __syncwarp (mask 0x00000003)")));
}

TEST(Failure, ALaneOutsideOfItsMask) {
  EXPECT_THAT(failure_of({1, 32}, [] { __ballot_sync(0xffff, 1); }),
              HasSubstr("thread (16,0,0): is lane 16, and not in the mask 0x0000ffff of its "
                        "__ballot_sync"));
}

TEST(Failure, WritesBesideSharedMemory) {
  EXPECT_THAT(failure_of({2, 32, 100},
                         [] {
                           if (threadIdx.x == 5) block_place.dynamic_shared[103] = 0;
                         }),
              HasSubstr("wrote 4 bytes behind the end of its 100 bytes of dynamic shared memory"));
  EXPECT_THAT(failure_of({1, 32, 100}, [] { block_place.dynamic_shared[-1] = 0; }),
              HasSubstr("wrote 1 bytes before its 100 bytes"));
}

TEST(Failure, ATrap) {
  EXPECT_THAT(failure_of({1, {4, 4}},
                         [] {
                           if (threadIdx.y == 2 && threadIdx.x == 3) __trap();
                         }),
              HasSubstr("thread (3,2,0): stopped at __trap"));
}

TEST(Failure, AnException) {
  EXPECT_THAT(failure_of({1, 1}, [] { throw std::runtime_error("no such luck"); }),
              HasSubstr("threw an exception, which no kernel can: no such luck"));
}

// Each frame holds on to its bytes and comes to an operation.
[[gnu::noinline]] uint32_t deep(uint32_t levels) {
  volatile unsigned char bytes[512];
  bytes[levels % 512] = 1;
  __syncwarp(1);
  if (levels == 0) return 0;
  // No inlining of itself into itself: a frame would be as large as the reserve.
  static uint32_t (*volatile again)(uint32_t) = deep;
  return again(levels - 1) + bytes[levels % 512];
}

TEST(Failure, AFullStack) {
  uint32_t sum = 0;
  EXPECT_THAT(failure_of({1, 1}, [&] { sum += deep(500); }),
              AllOf(HasSubstr("bytes of stack; raise stack_bytes")));
  EXPECT_EQ(failure_of({1, 1}, [&] { sum += deep(500); }, {.stack_bytes = 1 << 20}),
            "it ended well");
  EXPECT_EQ(sum, 500u);
}

TEST(Failure, LaunchesThatNoGpuTakes) {
  const auto nothing = [] {};
  EXPECT_THAT(failure_of({0, 32}, nothing), HasSubstr("a grid of 0 x 1 x 1 blocks"));
  EXPECT_THAT(failure_of({1, 1025}, nothing), HasSubstr("a block of 1025 x 1 x 1 threads"));
  EXPECT_THAT(failure_of({1, 32, 300'000}, nothing), HasSubstr("300000 bytes of dynamic shared"));
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST(Failure, WaitingInVainEndsAtTheDeadline) {
  const auto start = std::chrono::steady_clock::now();
  uint32_t never = 0;
  EXPECT_THAT(failure_of({2, 64, 0, "waiter"},
                         [&] {
                           if (threadIdx.x < 32) {
                             while (atomicAdd(&never, 0u) == 0) {
                             }
                           }
                           __syncthreads();
                         },
                         {.deadline_ms = 200}),
              AllOf(HasSubstr("waiter: did not end within 200 ms: block (0,0,0): "),
                    HasSubstr("each of threads 0-31 polls memory or the clock"),
                    HasSubstr("each of threads 32-63 waits at __syncthreads (32 of 64 have come)"),
                    HasSubstr("block (1,0,0): ")));
  EXPECT_LT(seconds_since(start), 30);
}

TEST(Failure, ALoopOfPlainReadsIsInterrupted) {
  volatile uint32_t never = 0;
  EXPECT_THAT(failure_of({1, 32},
                         [&] {
                           if (threadIdx.x == 3) {
                             while (never == 0) {
                             }
                           }
                           __syncwarp();
                         },
                         {.deadline_ms = 100}),
              AllOf(HasSubstr("each of threads 0-2 waits in __syncwarp"),
                    HasSubstr("thread 3 runs, and comes to no operation")));
  // The next launch is none the worse for it.
  EXPECT_EQ(failure_of({4, 64}, [] { __syncthreads(); }), "it ended well");
}

TEST(Failure, AnEndlessLoopOfOperationsEnds) {
  EXPECT_THAT(failure_of({1, 64},
                         [] {
                           for (;;) __syncwarp();
                         },
                         {.deadline_ms = 100}),
              HasSubstr("did not end within 100 ms"));
  EXPECT_THAT(failure_of({1, 1},
                         [] {
                           for (;;) __syncwarp(1);
                         },
                         {.deadline_ms = 100}),
              HasSubstr("did not end within 100 ms"));
}

TEST(Failure, OneBlockStopsTheOthers) {
  EXPECT_THAT(failure_of({8, 32},
                         [] {
                           if (blockIdx.x == 6) __trap();
                           for (;;) __nanosleep(1000);
                         }),
              HasSubstr("block (6,0,0), thread (0,0,0): stopped at __trap"));
}

}  // namespace
}  // namespace strait::simt
