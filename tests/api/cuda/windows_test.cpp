// Windows, puts and signals on GPUs: between GPUs that reach each other, between domains, on one
// stream and on several, in groups, in graphs, and what is refused.
#include <gmock/gmock.h>

#include <array>
#include <memory>
#include <numeric>

#include "api/cuda/gpu_graph.hpp"
#include "api/cuda/gpu_window.hpp"

namespace strait::test {
namespace {

using testing::Each;
using testing::HasSubstr;

// Each rank puts a block into every rank's window, itself included, and waits for all.
void put_all_to_all(int rank_count, int rank, GpuRank& gpu, ncclComm_t comm, size_t count) {
  const GpuWindow window(gpu, comm, static_cast<size_t>(rank_count) * count * 4 + kOffset);
  const auto block = gpu.words(count, static_cast<uint32_t>(rank) * 1000);
  for (uint32_t round = 0; round < 3; ++round) {
    std::vector<ncclWaitSignalDesc_t> waits;
    for (int peer = 0; peer < rank_count; ++peer) {
      EXPECT_NCCL(ncclPutSignal(block.data(), count, ncclUint32, peer, window.name(),
                                kOffset + static_cast<size_t>(rank) * count * 4, 0, 0, 0, comm,
                                gpu.stream()));
      waits.push_back({1, peer, 0, 0});
    }
    EXPECT_NCCL(ncclWaitSignal(rank_count, waits.data(), comm, gpu.stream()));
    EXPECT_DONE(gpu.wait());
    for (int peer = 0; peer < rank_count; ++peer)
      EXPECT_THAT(window.words(kOffset / 4 + static_cast<size_t>(peer) * count, count),
                  Each(static_cast<uint32_t>(peer) * 1000 + round))
          << "from rank " << peer << " to rank " << rank;
    window.meet(gpu);  // before the next round overwrites it
    gpu.add(block, 1, gpu.handle());
  }
}

TEST(GpuWindows, EveryRankPutsIntoEveryWindow) {
  const uint64_t before = standin::live_objects();
  for (const int devices : {1, 4})
    for (const int rank_count : {1, 2, 4})
      for (const size_t count : {20'000, 2'000})
        run_gpus(rank_count, devices, {}, [&](int rank, GpuRank& gpu, ncclComm_t comm) {
          put_all_to_all(rank_count, rank, gpu, comm, count);
        });
  EXPECT_EQ(objects_left(before), before);
}

// By pieces of the links that the host turns; some ranks by GPU, some by links.
TEST(GpuWindows, AlsoBetweenDomainsAndWhereNoGpuReachesAnother) {
  const uint64_t before = standin::live_objects();
  for (const auto& settings :
       {Settings{{"STRAIT_EMULATE_DOMAINS", "2"}, {"STRAIT_SLOT_BYTES", "16K"}},
        Settings{{"NCCL_P2P_DISABLE", "1"}}, Settings{{"STRAIT_EMULATE_DOMAINS", "1"}}})
    run_gpus(4, 4, settings, [&](int rank, GpuRank& gpu, ncclComm_t comm) {
      put_all_to_all(4, rank, gpu, comm, 20'001);
    });
  EXPECT_EQ(objects_left(before), before);
}

// A put of no bytes, of one, and from an odd address.
TEST(GpuWindows, SmallAndOddPutsArriveWhole) {
  for (const char* domains : {"0", "1"})
    run_gpus(2, 2, {{"STRAIT_EMULATE_DOMAINS", domains}},
             [&](int rank, GpuRank& gpu, ncclComm_t comm) {
               const GpuWindow window(gpu, comm, 4096);
               const auto bytes = gpu.words(64, 0x04030201);
               const auto* from = static_cast<const char*>(bytes.data());
               ncclWaitSignalDesc_t wait = {3, 1 - rank, 0, 0};
               const auto put = [&](size_t skip, size_t count, size_t at) {
                 EXPECT_NCCL(ncclPutSignal(from + skip, count, ncclInt8, 1 - rank, window.name(),
                                           at, 0, 0, 0, comm, gpu.stream()));
               };
               put(0, 0, 0);
               put(1, 1, 3);
               put(1, 7, 4);
               EXPECT_NCCL(ncclWaitSignal(1, &wait, comm, gpu.stream()));
               EXPECT_DONE(gpu.wait());
               EXPECT_THAT(window.words(0, 4),
                           testing::ElementsAre(0x02000000U, 0x01040302U, 0x00040302U, 0U));
               window.meet(gpu);
             });
}

TEST(GpuWindows, PutsOfOnePeerArriveInOrder) {
  for (const char* domains : {"0", "1"})
    run_gpus(2, 2, {{"STRAIT_EMULATE_DOMAINS", domains}},
             [](int rank, GpuRank& gpu, ncclComm_t comm) {
               const GpuWindow window(gpu, comm, 4096);
               constexpr uint32_t kPuts = 40;
               const auto value = gpu.words(1, 0);
               for (uint32_t i = 1; i <= kPuts; ++i) {
                 if (rank == 0) {
                   gpu.add(value, 1, gpu.handle());
                   EXPECT_NCCL(ncclPutSignal(value.data(), 1, ncclUint32, 1, window.name(), 64, 0,
                                             0, 0, comm, gpu.stream()));
                   EXPECT_DONE(gpu.wait());
                   continue;
                 }
                 ncclWaitSignalDesc_t wait = {1, 0, 0, 0};
                 EXPECT_NCCL(ncclWaitSignal(1, &wait, comm, gpu.stream()));
                 EXPECT_DONE(gpu.wait());
                 EXPECT_GE(window.words(16, 1)[0], i) << "what was signalled has arrived";
               }
               if (rank == 1) {
                 EXPECT_EQ(window.words(16, 1)[0], kPuts);
               }
               window.meet(gpu);
             });
}

TEST(GpuWindows, SignalsAreCountedByPeerContextAndIndex) {
  for (const char* domains : {"0", "1"})
    run_gpus(
        3, 3,
        {{"NCCL_NUM_RMA_CTX", "2"},
         {"STRAIT_RMA_SIGNALS", "3"},
         {"STRAIT_EMULATE_DOMAINS", domains}},
        [](int rank, GpuRank& gpu, ncclComm_t comm) {
          const GpuWindow window(gpu, comm, 4096);
          if (rank != 0) {
            for (int i = 0; i < rank; ++i) EXPECT_NCCL(ncclSignal(0, 2, 1, 0, comm, gpu.stream()));
            EXPECT_NCCL(ncclSignal(0, 0, 0, 0, comm, gpu.stream()));
          } else {
            ncclWaitSignalDesc_t waits[] = {{1, 2, 2, 1}, {1, 1, 2, 1}, {1, 2, 2, 1}, {1, 2, 0, 0}};
            EXPECT_NCCL(ncclWaitSignal(4, waits, comm, gpu.stream()));
            ncclWaitSignalDesc_t last = {1, 1, 0, 0};
            EXPECT_NCCL(ncclWaitSignal(1, &last, comm, gpu.stream()));
          }
          EXPECT_DONE(gpu.wait());
          window.meet(gpu);
        });
}

// A wait that is queued first must not hold up the collective of another stream, nor the put.
TEST(GpuWindows, StreamsCarryThemBesideEachOther) {
  run_gpus(2, 2, {}, [](int rank, GpuRank& gpu, ncclComm_t comm) {
    const GpuWindow window(gpu, comm, 4096);
    const cuda::Stream other = gpu.new_stream();
    const auto value = gpu.words(1, static_cast<uint32_t>(7 + rank));
    const int peer = 1 - rank;
    ncclWaitSignalDesc_t wait = {1, peer, 0, 0};
    if (rank == 0) {
      EXPECT_NCCL(ncclWaitSignal(1, &wait, comm, as_nccl(other.get())));
    }
    window.meet(gpu);
    EXPECT_NCCL(ncclPutSignal(value.data(), 1, ncclUint32, peer, window.name(), 0, 0, 0, 0, comm,
                              rank == 0 ? gpu.stream() : as_nccl(other.get())));
    if (rank == 1) {
      EXPECT_NCCL(ncclWaitSignal(1, &wait, comm, as_nccl(other.get())));
    }
    EXPECT_DONE(gpu.wait(other.get()));
    EXPECT_EQ(window.words(0, 1)[0], static_cast<uint32_t>(7 + peer));
    window.meet(gpu);
  });
}

TEST(GpuWindows, AGroupPutsBeforeItWaits) {
  for (const char* domains : {"0", "1"})
    run_gpus(
        2, 2, {{"STRAIT_EMULATE_DOMAINS", domains}}, [](int rank, GpuRank& gpu, ncclComm_t comm) {
          const GpuWindow window(gpu, comm, 4096);
          const auto value = gpu.words(1, static_cast<uint32_t>(40 + rank));
          const auto sum = gpu.words(1, static_cast<uint32_t>(rank));
          ncclWaitSignalDesc_t wait = {1, 1 - rank, 0, 0};
          EXPECT_NCCL(ncclGroupStart());
          EXPECT_NCCL(ncclWaitSignal(1, &wait, comm, gpu.stream()));
          EXPECT_NCCL(
              ncclAllReduce(sum.data(), sum.data(), 1, ncclUint32, ncclSum, comm, gpu.stream()));
          EXPECT_NCCL(ncclPutSignal(value.data(), 1, ncclUint32, 1 - rank, window.name(), 0, 0, 0,
                                    0, comm, gpu.stream()));
          EXPECT_NCCL(ncclGroupEnd());
          EXPECT_DONE(gpu.wait());
          EXPECT_EQ(window.words(0, 1)[0], static_cast<uint32_t>(41 - rank));
          EXPECT_EQ(gpu.words_in(sum)[0], 1U);
          window.meet(gpu);
        });
}

// One thread has all ranks: what it registers and calls in one group waits for nobody in between.
TEST(GpuWindows, OneThreadOfSeveralGpusGroupsThem) {
  constexpr size_t kRanks = 3;
  for (const char* domains : {"0", "2"}) {
    const Environment environment(Settings{{"STRAIT_EMULATE_DOMAINS", domains}});
    std::vector<std::unique_ptr<GpuRank>> gpus;
    for (int rank = 0; rank < static_cast<int>(kRanks); ++rank)
      gpus.push_back(std::make_unique<GpuRank>(rank));
    std::array<ncclComm_t, kRanks> comms{};
    EXPECT_NCCL(ncclCommInitAll(comms.data(), kRanks, nullptr));
    std::array<void*, kRanks> memory{};
    std::array<ncclWindow_t, kRanks> windows{};
    std::vector<cuda::DeviceMemory> words;
    const auto be_on = [&](size_t rank) {
      EXPECT_DONE(standin::program().cuCtxSetCurrent(gpus[rank]->context()));
    };
    for (size_t rank = 0; rank < kRanks; ++rank) {
      be_on(rank);
      EXPECT_NCCL(ncclMemAlloc(&memory[rank], 4096));
      words.push_back(gpus[rank]->words(8, static_cast<uint32_t>(rank + 1)));
    }
    EXPECT_NCCL(ncclGroupStart());
    for (size_t rank = 0; rank < kRanks; ++rank)
      EXPECT_NCCL(ncclCommWindowRegister(comms[rank], memory[rank], 4096, &windows[rank], 0));
    EXPECT_NCCL(ncclGroupEnd());
    EXPECT_NCCL(ncclGroupStart());
    for (size_t rank = 0; rank < kRanks; ++rank) {
      const int next = static_cast<int>((rank + 1) % kRanks);
      ncclWaitSignalDesc_t wait = {1, static_cast<int>((rank + kRanks - 1) % kRanks), 0, 0};
      EXPECT_NCCL(ncclWaitSignal(1, &wait, comms[rank], gpus[rank]->stream()));
      EXPECT_NCCL(ncclPutSignal(words[rank].data(), 8, ncclUint32, next, windows[rank], 0, 0, 0, 0,
                                comms[rank], gpus[rank]->stream()));
    }
    EXPECT_NCCL(ncclGroupEnd());
    for (size_t rank = 0; rank < kRanks; ++rank) {
      EXPECT_DONE(gpus[rank]->wait());
      uint32_t found = 0;
      EXPECT_DONE(standin::program().cuMemcpy(cuda::device_pointer(&found),
                                              cuda::device_pointer(memory[rank]), 4));
      EXPECT_EQ(found, (rank + kRanks - 1) % kRanks + 1);
    }
    for (size_t rank = 0; rank < kRanks; ++rank) {
      EXPECT_NCCL(ncclCommWindowDeregister(comms[rank], windows[rank]));
      EXPECT_NCCL(ncclMemFree(memory[rank]));
    }
    for (const ncclComm_t comm : comms) EXPECT_NCCL(ncclCommDestroy(comm));
  }
}

// In the background the collective is made first, and the wait comes behind it.
TEST(GpuWindows, NonBlockingCommunicatorsCarryThemInGroups) {
  run_gpus(2, 2, {}, [](int rank, GpuRank& gpu, ncclComm_t parent) {
    ncclComm_t comm = nullptr;
    const auto settle = [&](ncclResult_t result) {
      for (; result == ncclInProgress; std::this_thread::yield())
        EXPECT_NCCL(ncclCommGetAsyncError(comm, &result));
      EXPECT_NCCL(result);
    };
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    settle(ncclCommSplit(parent, 0, rank, &comm, &config));
    const auto value = gpu.words(1, static_cast<uint32_t>(40 + rank));
    const auto sum = gpu.words(1, static_cast<uint32_t>(rank));
    ncclWaitSignalDesc_t wait = {1, 1 - rank, 0, 0};
    void* memory = nullptr;
    ncclWindow_t window = nullptr;
    EXPECT_NCCL(ncclMemAlloc(&memory, 4096));
    settle(ncclCommWindowRegister(comm, memory, 4096, &window, 0));
    EXPECT_NCCL(ncclGroupStart());
    EXPECT_NCCL(ncclWaitSignal(1, &wait, comm, gpu.stream()));
    EXPECT_NCCL(ncclAllReduce(sum.data(), sum.data(), 1, ncclUint32, ncclSum, comm, gpu.stream()));
    EXPECT_NCCL(ncclPutSignal(value.data(), 1, ncclUint32, 1 - rank, window, 0, 0, 0, 0, comm,
                              gpu.stream()));
    settle(ncclGroupEnd());
    EXPECT_DONE(gpu.wait());
    uint32_t found = 0;
    EXPECT_DONE(
        standin::program().cuMemcpy(cuda::device_pointer(&found), cuda::device_pointer(memory), 4));
    EXPECT_EQ(found, static_cast<uint32_t>(41 - rank));
    EXPECT_EQ(gpu.words_in(sum)[0], 1U);
    EXPECT_NCCL(ncclCommWindowDeregister(comm, window));
    EXPECT_NCCL(ncclMemFree(memory));
    EXPECT_NCCL(ncclCommDestroy(comm));
  });
}

// The program replays puts, collectives and waits together.
TEST(GpuWindows, GraphsHoldThem) {
  const uint64_t before = standin::live_objects();
  for (const char* domains : {"0", "1"})
    run_gpus(2, 2, {{"STRAIT_EMULATE_DOMAINS", domains}},
             [](int rank, GpuRank& gpu, ncclComm_t comm) {
               const GpuWindow window(gpu, comm, 4096);
               const auto value = gpu.words(4, 0);
               ncclWaitSignalDesc_t wait = {1, 1 - rank, 0, 0};
               const Graph graph(gpu, [&] {
                 gpu.add(value, static_cast<uint32_t>(rank + 1), gpu.handle());
                 EXPECT_NCCL(ncclPutSignal(value.data(), 4, ncclUint32, 1 - rank, window.name(), 16,
                                           0, 0, 0, comm, gpu.stream()));
                 EXPECT_NCCL(ncclWaitSignal(1, &wait, comm, gpu.stream()));
               });
               for (uint32_t round = 1; round <= 3; ++round) {
                 graph.replay(gpu.handle());
                 EXPECT_DONE(gpu.wait());
                 EXPECT_THAT(window.words(4, 4), Each(round * static_cast<uint32_t>(2 - rank)));
                 window.meet(gpu);
               }
             });
  EXPECT_EQ(objects_left(before), before);
}

TEST(GpuWindows, SignalsNeedNoWindowWhereTheyAreSetUpEagerly) {
  run_gpus(2, 2, {{"NCCL_RMA_EAGER_INIT", "1"}}, [](int rank, GpuRank& gpu, ncclComm_t comm) {
    ncclWaitSignalDesc_t wait = {1, 1 - rank, 0, 0};
    EXPECT_NCCL(ncclSignal(1 - rank, 0, 0, 0, comm, gpu.stream()));
    EXPECT_NCCL(ncclWaitSignal(1, &wait, comm, gpu.stream()));
    EXPECT_DONE(gpu.wait());
  });
}

}  // namespace
}  // namespace strait::test
