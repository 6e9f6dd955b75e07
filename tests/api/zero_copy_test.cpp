// Zero copy changes no bit: every collective, in place and not, by every algorithm that lends, with
// and without it, between threads and between processes, on memory that can be shared and on memory
// that cannot. And what must hold around it: buffers come and go, ranks leave and die.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>

#include "base/clock.hpp"
#include "strait.h"
#include "tests/api/processes.hpp"
#include "tests/api/world.hpp"

namespace strait::test {
namespace {

constexpr int kRanks = 4;
constexpr size_t kBlock = 60'001;  // elements
constexpr size_t kCount = kRanks * kBlock;
constexpr size_t kBytes = kCount * sizeof(float);
// More rounds than slots, so that calls lend whose senders need not wait for anybody.
constexpr const char* kSlotBytes = "32K";

uint64_t lent_by(ncclComm_t comm) {
  straitCommStats_t stats{};
  stats.size = sizeof stats;
  need(straitCommGetStats(comm, &stats), "straitCommGetStats");
  need(stats.lent_bytes_sent <= stats.plain_bytes_sent, "more was lent than sent");
  return stats.lent_bytes_sent;
}

// A buffer of kBytes: shareable, or the program's own.
class Buffer {
 public:
  explicit Buffer(bool shareable) {
    void* memory = nullptr;
    if (shareable) need(ncclMemAlloc(&memory, kBytes), "ncclMemAlloc");
    if (shareable) shared_ = memory;
    if (!shareable) own_.resize(kBytes / sizeof(float));
  }
  ~Buffer() {
    if (shared_ != nullptr) ncclMemFree(shared_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  float* values() { return shared_ != nullptr ? static_cast<float*>(shared_) : own_.data(); }
  void fill(int seed) {
    auto state = static_cast<uint32_t>(seed);
    for (size_t i = 0; i < kCount; ++i) {
      state = state * 1'664'525 + 1'013'904'223;
      values()[i] = static_cast<float>(static_cast<int32_t>(state)) * 0x1p-31F;
    }
  }

 private:
  void* shared_ = nullptr;
  std::vector<float> own_;
};

// Of the bits, in their order.
uint64_t digest(const float* values, uint64_t before) {
  uint64_t hash = before;
  for (size_t i = 0; i < kCount; ++i) {
    uint32_t bits = 0;
    std::memcpy(&bits, values + i, sizeof bits);
    hash = (hash ^ bits) * 0x100000001b3u;
  }
  return hash;
}

// Every collective, out of place and in place; returns a digest of all that this rank has received.
uint64_t all_collectives(int rank, ncclComm_t comm, bool shareable) {
  Buffer in(shareable);
  Buffer out(shareable);
  uint64_t hash = 0xcbf29ce484222325u;
  int seed = 100 * rank;
  const auto run = [&](const char* what, bool in_place, const auto& call) {
    in.fill(++seed);
    out.fill(++seed);
    need(call(in_place ? out.values() : in.values(), out.values()), what);
    hash = digest(in.values(), digest(out.values(), hash));
  };
  const size_t own = static_cast<size_t>(rank) * kBlock;
  for (const bool in_place : {false, true}) {
    const auto part = [&](float* base) { return in_place ? base + own : base; };
    for (const ncclRedOp_t op : {ncclSum, ncclAvg, ncclMax})
      run("ncclAllReduce", in_place, [&](float* from, float* to) {
        return ncclAllReduce(from, to, kCount, ncclFloat, op, comm, nullptr);
      });
    run("ncclAllGather", in_place, [&](float* from, float* to) {
      return ncclAllGather(part(from), to, kBlock, ncclFloat, comm, nullptr);
    });
    run("ncclReduceScatter", in_place, [&](float* from, float* to) {
      return ncclReduceScatter(from, part(to), kBlock, ncclFloat, ncclSum, comm, nullptr);
    });
    for (const int root : {0, kRanks - 1}) {
      run("ncclBroadcast", in_place, [&](float* from, float* to) {
        return ncclBroadcast(from, to, kCount, ncclFloat, root, comm, nullptr);
      });
      run("ncclReduce", in_place, [&](float* from, float* to) {
        return ncclReduce(from, to, kCount, ncclFloat, ncclSum, root, comm, nullptr);
      });
      run("ncclGather", in_place, [&](float* from, float* to) {
        return ncclGather(rank == root ? part(from) : from, to, kBlock, ncclFloat, root, comm,
                          nullptr);
      });
      run("ncclScatter", in_place, [&](float* from, float* to) {
        return ncclScatter(from, rank == root ? part(to) : to, kBlock, ncclFloat, root, comm,
                           nullptr);
      });
    }
  }
  run("ncclAlltoAll", false, [&](float* from, float* to) {
    return ncclAlltoAll(from, to, kBlock, ncclFloat, comm, nullptr);
  });
  run("ncclSend and ncclRecv", false, [&](float* from, float* to) {
    need(ncclGroupStart(), "ncclGroupStart");
    need(ncclSend(from, kCount, ncclFloat, (rank + 1) % kRanks, comm, nullptr), "send");
    need(ncclRecv(to, kCount, ncclFloat, (rank + kRanks - 1) % kRanks, comm, nullptr), "receive");
    return ncclGroupEnd();
  });
  return hash;
}

struct Outcome {
  uint64_t digest[kRanks] = {};
  uint64_t lent[kRanks] = {};
};

Outcome on_threads_with(const Settings& settings, bool shareable) {
  Outcome outcome;
  run_world(kRanks, settings, [&](int rank, ncclComm_t comm) {
    outcome.digest[rank] = all_collectives(rank, comm, shareable);
    outcome.lent[rank] = lent_by(comm);
  });
  return outcome;
}

// By digest here and what was lent in the rank's second number.
Outcome on_processes_with(const Settings& settings, bool shareable) {
  const Environment environment(settings);
  Processes processes(kRanks, [&](int rank, SharedPage& page) {
    ncclComm_t comm = nullptr;
    need(ncclCommInitRank(&comm, kRanks, page.id, rank), "ncclCommInitRank");
    page.numbers[rank] = static_cast<int64_t>(all_collectives(rank, comm, shareable));
    page.numbers[kRanks + rank] = static_cast<int64_t>(lent_by(comm));
    need(ncclCommDestroy(comm), "ncclCommDestroy");
  });
  processes.expect_fine(120'000);
  Outcome outcome;
  for (int rank = 0; rank < kRanks; ++rank) {
    outcome.digest[rank] = static_cast<uint64_t>(processes.page().numbers[rank].load());
    outcome.lent[rank] = static_cast<uint64_t>(processes.page().numbers[kRanks + rank].load());
  }
  return outcome;
}

class ZeroCopy : public testing::TestWithParam<std::string> {};

TEST_P(ZeroCopy, ChangesNoBit) {
  const auto settings = [](const char* zero_copy) {
    return Settings{{"STRAIT_ZERO_COPY", zero_copy},
                    {"STRAIT_SLOT_BYTES", kSlotBytes},
                    {"STRAIT_ALGO", GetParam()}};
  };
  const Outcome slots = on_threads_with(settings("off"), true);
  for (const uint64_t lent : slots.lent) EXPECT_EQ(lent, 0U);
  for (const bool shareable : {true, false})
    for (const bool processes : {false, true}) {
      SCOPED_TRACE(testing::Message() << (shareable ? "shareable" : "own") << " memory, "
                                      << (processes ? "processes" : "threads"));
      const Outcome found = processes ? on_processes_with(settings("on"), shareable)
                                      : on_threads_with(settings("on"), shareable);
      for (int rank = 0; rank < kRanks; ++rank) {
        EXPECT_EQ(found.digest[rank], slots.digest[rank]) << "rank " << rank;
        if (processes && !shareable) {
          EXPECT_EQ(found.lent[rank], 0U);
        } else {
          EXPECT_GT(found.lent[rank], kBytes);
        }
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, ZeroCopy,
                         testing::Values("auto", "ring", "tree", "two_shot", "one_shot"),
                         [](const auto& algorithm) { return algorithm.param; });

TEST(ZeroCopyOfLevels, ChangesNoBit) {
  const auto outcome = [](const char* zero_copy) {
    return on_threads_with({{"STRAIT_ZERO_COPY", zero_copy},
                            {"STRAIT_SLOT_BYTES", kSlotBytes},
                            {"STRAIT_EMULATE_DOMAINS", "2"}},
                           true);
  };
  const Outcome slots = outcome("off");
  const Outcome lent = outcome("on");
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(lent.digest[rank], slots.digest[rank]) << "rank " << rank;
    EXPECT_GT(lent.lent[rank], kBytes);
  }
}

// Delays let messages overtake each other across links; nothing may depend on who is late.
TEST(ZeroCopyOfLateMessages, ChangesNoBit) {
  const Outcome slots = on_threads_with({{"STRAIT_ZERO_COPY", "off"}}, true);
  const Outcome lent = on_threads_with({{"STRAIT_ZERO_COPY", "on"},
                                        {"STRAIT_SLOT_BYTES", kSlotBytes},
                                        {"STRAIT_FAULT", "seed=3,delay_us=200"}},
                                       true);
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(lent.digest[rank], slots.digest[rank]) << "rank " << rank;
    EXPECT_GT(lent.lent[rank], kBytes);
  }
}

TEST(ZeroCopyBySize, SpareSmallMessages) {
  run_world(2, {}, [](int, ncclComm_t comm) {
    Buffer buffer(true);
    need(ncclAllReduce(buffer.values(), buffer.values(), 2'000, ncclFloat, ncclSum, comm, nullptr),
         "ncclAllReduce");
    EXPECT_EQ(lent_by(comm), 0U);
    need(ncclAllReduce(buffer.values(), buffer.values(), kCount, ncclFloat, ncclSum, comm, nullptr),
         "ncclAllReduce");
    EXPECT_EQ(lent_by(comm), kBytes);
  });
}

TEST(ZeroCopyBuffers, MayBeFreedAndComeBackAtTheSamePlace) {
  constexpr int kRounds = 20;
  Processes processes(2, [&](int rank, SharedPage& page) {
    ncclComm_t comm = nullptr;
    need(ncclCommInitRank(&comm, 2, page.id, rank), "ncclCommInitRank");
    for (int round = 1; round <= kRounds; ++round) {
      Buffer buffer(true);
      void* registration = nullptr;
      need(ncclCommRegister(comm, buffer.values(), kBytes, &registration), "ncclCommRegister");
      std::fill_n(buffer.values(), kCount, static_cast<float>(round * (rank + 1)));
      need(ncclAllReduce(buffer.values(), buffer.values(), kCount, ncclFloat, ncclSum, comm,
                         nullptr),
           "ncclAllReduce");
      for (size_t i = 0; i < kCount; ++i)
        need(buffer.values()[i] == static_cast<float>(3 * round),
             "round " + std::to_string(round) + ", element " + std::to_string(i));
      need(ncclCommDeregister(comm, registration), "ncclCommDeregister");
    }
    need(lent_by(comm) >= kRounds * kBytes / 2, "too little was lent");
    need(ncclCommDestroy(comm), "ncclCommDestroy");
  });
  processes.expect_fine(60'000);
}

// A rank that has sent all may leave; one that dies while it is being read is told.
TEST(ZeroCopyPeers, MayLeaveAfterTheCall) {
  Processes processes(2, [&](int rank, SharedPage& page) {
    ncclComm_t comm = nullptr;
    need(ncclCommInitRank(&comm, 2, page.id, rank), "ncclCommInitRank");
    Buffer buffer(true);
    buffer.fill(1);
    if (rank == 0) {
      need(ncclSend(buffer.values(), kCount, ncclFloat, 1, comm, nullptr), "ncclSend");
      need(ncclCommDestroy(comm), "ncclCommDestroy");
      return;
    }
    Buffer received(true);
    need(ncclRecv(received.values(), kCount, ncclFloat, 0, comm, nullptr), "ncclRecv");
    need(std::memcmp(received.values(), buffer.values(), kBytes) == 0, "the bytes differ");
    need(ncclCommDestroy(comm), "ncclCommDestroy");
  });
  processes.expect_fine();
}

TEST(ZeroCopyPeers, ThatDieAreTold) {
  for (const int dead : {0, 1}) {
    Processes processes(2, [&](int rank, SharedPage& page) {
      ncclComm_t comm = nullptr;
      need(ncclCommInitRank(&comm, 2, page.id, rank), "ncclCommInitRank");
      Buffer in(true);
      Buffer out(true);
      for (int64_t round = 0;; ++round) {
        if (round == 3) page.meet(2);
        const Deadline bound = Deadline::after_ms(10'000);
        const ncclResult_t result =
            ncclAllReduce(in.values(), out.values(), kCount, ncclFloat, ncclSum, comm, nullptr);
        need(!bound.passed(), "a call with a dead rank took too long");
        if (result == ncclSuccess) continue;
        need(std::strstr(ncclGetLastError(comm), std::to_string(dead).c_str()) != nullptr,
             "the dead rank is not named");
        need(ncclCommAbort(comm), "ncclCommAbort");
        return;
      }
    });
    SharedPage::wait_for(processes.page().arrived, 2);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    processes.kill_rank(dead);
    processes.expect_fine();
  }
}

// Who aborts frees its memory at once: its peers, threads of the same process, read it no more.
TEST(ZeroCopyAbort, LetsMemoryGo) {
  for (int round = 0; round < 30; ++round) {
    const Environment environment(Settings{{"STRAIT_ZERO_COPY", "on"}, {"STRAIT_DEBUG", "NONE"}});
    ncclUniqueId id;
    ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
    on_threads(3, [&](int rank) {
      ncclComm_t comm = nullptr;
      ASSERT_EQ(ncclCommInitRank(&comm, 3, id, rank), ncclSuccess) << ncclGetLastError(nullptr);
      std::thread killer;
      if (rank == 0)
        killer = std::thread([comm, round] {
          std::this_thread::sleep_for(std::chrono::microseconds(20'000 + 731 * round));
          EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
        });
      ncclResult_t result = ncclSuccess;
      while (result == ncclSuccess) {
        Buffer buffer(true);
        result = ncclAllReduce(buffer.values(), buffer.values(), kCount, ncclFloat, ncclSum, comm,
                               nullptr);
      }
      if (killer.joinable()) killer.join();
      if (rank != 0) {
        EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
      }
    });
  }
}

TEST(ZeroCopyFaults, StillEndInASentence) {
  for (const char* transports : {"inproc,shm,tcp", "shm,tcp"})
    for (const auto& [fault, told] :
         {std::pair{"cut_after=30", "was cut"}, {"stall_after=30", "nothing moved for"}})
      run_world(2,
                {{"STRAIT_FAULT", fault},
                 {"STRAIT_ZERO_COPY", "on"},
                 {"STRAIT_TRANSPORTS", transports},
                 {"STRAIT_TIMEOUT_MS", "700"},
                 {"STRAIT_DEBUG", "NONE"}},
                [&, sentence = std::string(told)](int, ncclComm_t comm) {
                  Buffer buffer(true);
                  ncclResult_t result = ncclSuccess;
                  for (int i = 0; i < 100 && result == ncclSuccess; ++i)
                    result = ncclAllReduce(buffer.values(), buffer.values(), kCount, ncclFloat,
                                           ncclSum, comm, nullptr);
                  EXPECT_NE(result, ncclSuccess);
                  EXPECT_THAT(ncclGetLastError(comm), testing::HasSubstr(sentence));
                });
}

// A send that fits the slots of its link is done without its receiver, as before.
TEST(ZeroCopySends, ThatFitTheSlotsWaitForNobody) {
  run_world(2, {}, [](int rank, ncclComm_t comm) {
    const int peer = 1 - rank;
    std::vector<char> out(256 << 10, static_cast<char>(rank + 1));
    std::vector<char> in(out.size());
    // Links are opened by a first message in each direction.
    need(ncclGroupStart(), "ncclGroupStart");
    need(ncclSend(out.data(), 1, ncclChar, peer, comm, nullptr), "ncclSend");
    need(ncclRecv(in.data(), 1, ncclChar, peer, comm, nullptr), "ncclRecv");
    need(ncclGroupEnd(), "ncclGroupEnd");
    need(ncclSend(out.data(), out.size(), ncclChar, peer, comm, nullptr), "ncclSend");
    need(ncclRecv(in.data(), in.size(), ncclChar, peer, comm, nullptr), "ncclRecv");
    EXPECT_EQ(in, std::vector<char>(in.size(), static_cast<char>(peer + 1)));
  });
}

}  // namespace
}  // namespace strait::test
