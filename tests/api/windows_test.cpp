// Windows, puts and signals: between threads, between domains, on streams and without, in groups,
// in order, and what is refused.

#include <gmock/gmock.h>

#include <array>
#include <latch>
#include <numeric>

#include "strait.h"
#include "tests/api/world.hpp"

namespace strait::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr size_t kWindowBytes = 1 << 20;

// Memory of ncclMemAlloc, registered with the communicator.
class Window {
 public:
  Window(ncclComm_t comm, size_t bytes) : comm_(comm) {
    EXPECT_EQ(ncclMemAlloc(&memory_, bytes), ncclSuccess);
    EXPECT_EQ(ncclCommWindowRegister(comm, memory_, bytes, &name_, NCCL_WIN_COLL_SYMMETRIC),
              ncclSuccess)
        << ncclGetLastError(comm);
  }
  ~Window() {
    EXPECT_EQ(ncclCommWindowDeregister(comm_, name_), ncclSuccess);
    EXPECT_EQ(ncclMemFree(memory_), ncclSuccess);
  }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  ncclWindow_t name() const { return name_; }
  int* values() const { return static_cast<int*>(memory_); }

 private:
  ncclComm_t comm_;
  void* memory_ = nullptr;
  ncclWindow_t name_ = nullptr;
};

// All ranks reach this point before one goes on.
void meet(ncclComm_t comm) {
  int value = 1;
  EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, nullptr), ncclSuccess);
}

ncclResult_t wait_for(ncclComm_t comm, int peer, int count, cudaStream_t stream = nullptr) {
  ncclWaitSignalDesc_t wait = {count, peer, 0, 0};
  return ncclWaitSignal(1, &wait, comm, stream);
}

// Each rank puts a block into every rank's window, itself included, and waits for all.
void put_all_to_all(int rank_count, int rank, ncclComm_t comm) {
  const Window window(comm, kWindowBytes);
  constexpr size_t kCount = 20'000;  // more than a slot
  for (int round = 0; round < 3; ++round) {
    std::vector<int> block(kCount);
    std::iota(block.begin(), block.end(), 1000 * rank + round);
    std::vector<ncclWaitSignalDesc_t> waits;
    for (int peer = 0; peer < rank_count; ++peer) {
      ASSERT_EQ(
          ncclPutSignal(block.data(), kCount, ncclInt, peer, window.name(),
                        static_cast<size_t>(rank) * kCount * sizeof(int), 0, 0, 0, comm, nullptr),
          ncclSuccess)
          << ncclGetLastError(comm);
      waits.push_back({1, peer, 0, 0});
    }
    ASSERT_EQ(ncclWaitSignal(rank_count, waits.data(), comm, nullptr), ncclSuccess)
        << ncclGetLastError(comm);
    for (int peer = 0; peer < rank_count; ++peer) {
      const int* begin = window.values() + static_cast<size_t>(peer) * kCount;
      EXPECT_EQ(begin[0], 1000 * peer + round);
      EXPECT_EQ(begin[kCount - 1], 1000 * peer + round + static_cast<int>(kCount) - 1);
    }
    meet(comm);  // before the next round overwrites it
  }
}

TEST(Windows, EveryRankPutsIntoEveryWindow) {
  for (const int rank_count : {1, 2, 5})
    run_world(rank_count, {},
              [&](int rank, ncclComm_t comm) { put_all_to_all(rank_count, rank, comm); });
}

TEST(Windows, AlsoOverSharedMemoryAndSockets) {
  for (const char* transports : {"shm,tcp", "tcp"})
    run_world(3, {{"STRAIT_TRANSPORTS", transports}},
              [&](int rank, ncclComm_t comm) { put_all_to_all(3, rank, comm); });
  run_world(4, {{"STRAIT_EMULATE_DOMAINS", "2"}},
            [&](int rank, ncclComm_t comm) { put_all_to_all(4, rank, comm); });
}

TEST(Windows, PutsOfOnePeerArriveInOrder) {
  run_world(2, {}, [](int rank, ncclComm_t comm) {
    const Window window(comm, kWindowBytes);
    constexpr int kPuts = 500;
    if (rank == 0) {
      for (int i = 1; i <= kPuts; ++i)
        ASSERT_EQ(ncclPutSignal(&i, 1, ncclInt, 1, window.name(), 64, 0, 0, 0, comm, nullptr),
                  ncclSuccess);
      meet(comm);
    } else {
      for (int i = 1; i <= kPuts; ++i) {
        ASSERT_EQ(wait_for(comm, 0, 1), ncclSuccess) << ncclGetLastError(comm);
        EXPECT_GE(window.values()[16], i) << "what was signalled has arrived";
      }
      EXPECT_EQ(window.values()[16], kPuts);
      meet(comm);
    }
  });
}

TEST(Windows, SignalsAreCountedByPeerContextAndIndex) {
  const Settings settings = {{"NCCL_NUM_RMA_CTX", "2"}, {"STRAIT_RMA_SIGNALS", "3"}};
  run_world(3, settings, [](int rank, ncclComm_t comm) {
    const Window window(comm, kWindowBytes);
    if (rank != 0) {
      for (int i = 0; i < rank; ++i) ASSERT_EQ(ncclSignal(0, 2, 1, 0, comm, nullptr), ncclSuccess);
      ASSERT_EQ(ncclSignal(0, 0, 0, 0, comm, nullptr), ncclSuccess);
    } else {
      ncclWaitSignalDesc_t waits[] = {{1, 2, 2, 1}, {1, 1, 2, 1}, {1, 2, 2, 1}, {1, 2, 0, 0}};
      EXPECT_EQ(ncclWaitSignal(4, waits, comm, nullptr), ncclSuccess) << ncclGetLastError(comm);
      EXPECT_EQ(wait_for(comm, 1, 1), ncclSuccess);
    }
    meet(comm);
  });
}

TEST(Windows, StreamsCarryThem) {
  run_world(2, {}, [](int rank, ncclComm_t comm) {
    const Window window(comm, kWindowBytes);
    cudaStream_t stream = nullptr;
    ASSERT_EQ(straitStreamCreate(&stream), ncclSuccess);
    std::vector<int> value(1, 7 + rank);
    const int peer = 1 - rank;
    // The wait is queued first on one rank: it must not hold up the collective of another stream.
    if (rank == 0) {
      ASSERT_EQ(wait_for(comm, peer, 1, stream), ncclSuccess);
    }
    meet(comm);
    ASSERT_EQ(ncclPutSignal(value.data(), 1, ncclInt, peer, window.name(), 0, 0, 0, 0, comm,
                            rank == 0 ? nullptr : stream),
              ncclSuccess);
    if (rank == 1) {
      ASSERT_EQ(wait_for(comm, peer, 1, stream), ncclSuccess);
    }
    ASSERT_EQ(straitStreamSynchronize(stream), ncclSuccess);
    EXPECT_EQ(window.values()[0], 7 + peer);
    ASSERT_EQ(straitStreamDestroy(stream), ncclSuccess);
    meet(comm);
  });
}

TEST(Windows, AGroupPutsBeforeItWaits) {
  run_world(2, {}, [](int rank, ncclComm_t comm) {
    void* memory = nullptr;
    ASSERT_EQ(ncclMemAlloc(&memory, kWindowBytes), ncclSuccess);
    ncclWindow_t window = nullptr;
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    ASSERT_EQ(ncclCommWindowRegister(comm, memory, kWindowBytes, &window, NCCL_WIN_DEFAULT),
              ncclSuccess);
    EXPECT_EQ(window, nullptr) << "it is there when the group has ended";
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(comm);
    ASSERT_NE(window, nullptr);
    const int value = 40 + rank;
    int sum = rank;
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    ASSERT_EQ(wait_for(comm, 1 - rank, 1), ncclSuccess);
    ASSERT_EQ(ncclAllReduce(&sum, &sum, 1, ncclInt, ncclSum, comm, nullptr), ncclSuccess);
    ASSERT_EQ(ncclPutSignal(&value, 1, ncclInt, 1 - rank, window, 0, 0, 0, 0, comm, nullptr),
              ncclSuccess);
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(comm);
    EXPECT_EQ(*static_cast<int*>(memory), 41 - rank);
    EXPECT_EQ(sum, 1);
    void* user = nullptr;
    EXPECT_EQ(ncclWinGetUserPtr(comm, window, &user), ncclSuccess);
    EXPECT_EQ(user, memory);
    meet(comm);
    EXPECT_EQ(ncclCommWindowDeregister(comm, window), ncclSuccess);
    EXPECT_EQ(ncclWinGetUserPtr(comm, window, &user), ncclInvalidArgument);
    EXPECT_EQ(ncclCommWindowDeregister(comm, window), ncclInvalidArgument);
    EXPECT_EQ(ncclCommWindowDeregister(comm, nullptr), ncclSuccess);
    EXPECT_EQ(ncclMemFree(memory), ncclSuccess);
  });
}

// A thread of several ranks opens several windows of each in one group: they pair in the order of
// the calls, on every rank.
TEST(Windows, SeveralOpenInOneGroup) {
  constexpr int kRanks = 3, kWindows = 4;
  std::array<ncclComm_t, kRanks> comms{};
  ASSERT_EQ(ncclCommInitAll(comms.data(), kRanks, nullptr), ncclSuccess);
  std::array<std::array<void*, kWindows>, kRanks> memory{};
  std::array<std::array<ncclWindow_t, kWindows>, kRanks> names{};
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (size_t rank = 0; rank < kRanks; ++rank)
    for (size_t i = 0; i < kWindows; ++i) {
      // Of other sizes each, so that a wrong pair does not fit.
      const size_t bytes = 4096 * (i + 1);
      ASSERT_EQ(ncclMemAlloc(&memory[rank][i], bytes), ncclSuccess);
      ASSERT_EQ(ncclCommWindowRegister(comms[rank], memory[rank][i], bytes, &names[rank][i],
                                       NCCL_WIN_COLL_SYMMETRIC),
                ncclSuccess);
    }
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
  for (size_t i = 0; i < kWindows; ++i) {
    const int value = 100 + static_cast<int>(i);
    ncclWaitSignalDesc_t wait = {1, 0, 0, 0};
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    ASSERT_EQ(ncclPutSignal(&value, 1, ncclInt, 1, names[0][i], 4096 * (i + 1) - sizeof(int), 0, 0,
                            0, comms[0], nullptr),
              ncclSuccess);
    ASSERT_EQ(ncclWaitSignal(1, &wait, comms[1], nullptr), ncclSuccess);
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
    EXPECT_EQ(static_cast<int*>(memory[1][i])[1024 * (i + 1) - 1], value);
  }
  for (size_t rank = 0; rank < kRanks; ++rank) {
    for (size_t i = 0; i < kWindows; ++i)
      EXPECT_EQ(ncclCommWindowDeregister(comms[rank], names[rank][i]), ncclSuccess);
    EXPECT_EQ(ncclCommDestroy(comms[rank]), ncclSuccess);
    for (void* block : memory[rank]) EXPECT_EQ(ncclMemFree(block), ncclSuccess);
  }
}

TEST(Windows, SignalsNeedNoWindowWhereTheyAreSetUpEagerly) {
  run_world(2, {}, [](int, ncclComm_t comm) {
    EXPECT_EQ(ncclSignal(0, 0, 0, 0, comm, nullptr), ncclInvalidUsage);
    EXPECT_EQ(wait_for(comm, 0, 1), ncclInvalidUsage);
  });
  run_world(2, {{"NCCL_RMA_EAGER_INIT", "1"}}, [](int rank, ncclComm_t comm) {
    EXPECT_EQ(ncclSignal(1 - rank, 0, 0, 0, comm, nullptr), ncclSuccess) << ncclGetLastError(comm);
    EXPECT_EQ(wait_for(comm, 1 - rank, 1), ncclSuccess) << ncclGetLastError(comm);
  });
}

TEST(Windows, BadArgumentsAreRefused) {
  run_world(2, {}, [](int rank, ncclComm_t comm) {
    const Window window(comm, 8192);
    if (rank == 0) {  // the last error belongs to the whole process
      int value = 1;
      const auto refused = [&](ncclResult_t result, const char* part) {
        EXPECT_EQ(result, ncclInvalidArgument) << part;
        EXPECT_THAT(ncclGetLastError(comm), HasSubstr(part));
      };
      const auto put = [&](size_t count, int peer, size_t offset, int signal, int context,
                           unsigned flags) {
        return ncclPutSignal(&value, count, ncclInt, peer, window.name(), offset, signal, context,
                             flags, comm, nullptr);
      };
      refused(put(1, 2, 0, 0, 0, 0), "peer 2 is not among the 2 ranks");
      refused(put(1, 1, 0, 1, 0, 0), "sigIdx 1");
      refused(put(1, 1, 0, 0, 3, 0), "ctx 3");
      refused(put(1, 1, 0, 0, 0, 4), "flags is 0x4");
      refused(put(1, 1, 8190, 0, 0, 0), "leave the window of rank 1, which has 8192 bytes");
      refused(put(SIZE_MAX / 2, 1, 0, 0, 0, 0), "leave the window");
      refused(ncclPutSignal(nullptr, 1, ncclInt, 1, window.name(), 0, 0, 0, 0, comm, nullptr),
              "localbuff is NULL");
      refused(ncclPutSignal(&value, 1, ncclInt, 1, nullptr, 0, 0, 0, 0, comm, nullptr),
              "no window of this communicator");
      refused(ncclWaitSignal(0, nullptr, comm, nullptr), "name at least one signal");
      ncclWaitSignalDesc_t wait = {0, 1, 0, 0};
      refused(ncclWaitSignal(1, &wait, comm, nullptr), "signalDescs[0].opCnt is 0");
      wait = {1, 7, 0, 0};
      refused(ncclWaitSignal(1, &wait, comm, nullptr), "signalDescs[0]: peer 7");
    }
    meet(comm);
    // Registration is collective: what one rank gets wrong, all learn.
    ncclWindow_t bad = nullptr;
    void* const misplaced = reinterpret_cast<char*>(window.values()) + (rank == 0 ? 8 : 0);
    EXPECT_EQ(ncclCommWindowRegister(comm, misplaced, 4096, &bad, 0), ncclInvalidArgument);
    EXPECT_EQ(bad, nullptr);
    EXPECT_EQ(ncclCommWindowRegister(comm, window.values(), 4096, &bad, 64), ncclInvalidArgument);
    meet(comm);
  });
}

TEST(Windows, AWaitEndsWithItsDeadlineOrItsPeer) {
  std::latch waited(1);
  run_world(2, {{"STRAIT_TIMEOUT_MS", "300"}}, [&](int rank, ncclComm_t comm) {
    const Window window(comm, kWindowBytes);
    if (rank == 1) waited.wait();
    if (rank == 0) {
      EXPECT_EQ(wait_for(comm, 1, 1), ncclTimeout);
      EXPECT_THAT(ncclGetLastError(comm),
                  AllOf(HasSubstr("0 of 1 signals 0 in context 0 have come from rank 1")));
      waited.count_down();
    }
  });
  run_world(2, {{"STRAIT_TIMEOUT_MS", "60000"}}, [](int rank, ncclComm_t comm) {
    const Window window(comm, kWindowBytes);
    if (rank == 0) {
      EXPECT_NE(wait_for(comm, 1, 1), ncclSuccess) << "rank 1 leaves";
    }
  });
}

}  // namespace
}  // namespace strait::test
