// CUDA graphs: calls are captured on every rank and replayed, many times, in several graphs, beside
// plain calls; a communicator outlives the graphs that hold its calls.
#include <gmock/gmock.h>

#include <barrier>

#include "api/cuda/gpu_graph.hpp"

namespace strait::test {
namespace {

using testing::Each;
using testing::HasSubstr;

constexpr size_t kWords = 3000;

ncclResult_t sum(const cuda::DeviceMemory& in, const cuda::DeviceMemory& out, ncclComm_t comm,
                 cuda::StreamHandle stream) {
  return ncclAllReduce(in.data(), out.data(), kWords, ncclUint32, ncclSum, comm, as_nccl(stream));
}

TEST(GpuGraphs, ReplayGivesTheBitsOfPlainCalls) {
  run_gpus(3, 4, {}, [](int rank, GpuRank& gpu, ncclComm_t comm) {
    const auto a = gpu.words(kWords, static_cast<uint32_t>(rank + 1));
    const auto b = gpu.words(kWords, 0);
    const Graph graph(gpu, [&] {
      EXPECT_NCCL(sum(a, b, comm, gpu.handle()));
      gpu.add(b, 1, gpu.handle());
      EXPECT_NCCL(sum(b, a, comm, gpu.handle()));
    });
    EXPECT_THAT(gpu.words_in(b), Each(0U)) << "capturing runs nothing";
    for (int turn = 0; turn < 25; ++turn) {
      gpu.fill(a, static_cast<uint32_t>(rank + turn), gpu.handle());
      graph.replay(gpu.handle());
      EXPECT_DONE(gpu.wait());
      ASSERT_THAT(gpu.words_in(a), Each(static_cast<uint32_t>(3 * (3 + 3 * turn + 1))));
    }
  });
}

TEST(GpuGraphs, FirstCallsMayBeCapturedInEveryMode) {
  for (const cuda::CaptureMode mode :
       {cuda::kCaptureGlobal, cuda::kCaptureThreadLocal, cuda::kCaptureRelaxed}) {
    std::barrier all(2);
    run_gpus(
        2, 2, {{"STRAIT_EMULATE_DOMAINS", "1"}},
        [&, mode](int rank, GpuRank& gpu, ncclComm_t comm) {
          const auto a = gpu.words(kWords, 3);
          const auto b = gpu.words(kWords, 4);
          all.arrive_and_wait();
          const Graph graph(
              gpu,
              [&] {
                EXPECT_NCCL(sum(a, a, comm, gpu.handle()));
                EXPECT_NCCL(ncclGroupStart());
                EXPECT_NCCL(ncclSend(a.data(), kWords, ncclUint32, 1 - rank, comm, gpu.stream()));
                EXPECT_NCCL(ncclRecv(b.data(), kWords, ncclUint32, 1 - rank, comm, gpu.stream()));
                EXPECT_NCCL(ncclGroupEnd());
              },
              mode);
          all.arrive_and_wait();
          graph.replay(gpu.handle());
          graph.replay(gpu.handle());
          EXPECT_DONE(gpu.wait());
          EXPECT_THAT(gpu.words_in(b), Each(12U));
        });
  }
}

TEST(GpuGraphs, SeveralBesidePlainCallsOnOneStream) {
  run_gpus(2, 2, {}, [](int, GpuRank& gpu, ncclComm_t comm) {
    const auto a = gpu.words(kWords, 1);
    const auto b = gpu.words(kWords, 1);
    const Graph first(gpu, [&] { EXPECT_NCCL(sum(a, a, comm, gpu.handle())); });
    const Graph second(gpu, [&] {
      EXPECT_NCCL(sum(b, b, comm, gpu.handle()));
      EXPECT_NCCL(sum(a, a, comm, gpu.handle()));
    });
    for (int turn = 0; turn < 4; ++turn) {
      first.replay(gpu.handle());
      EXPECT_NCCL(sum(b, b, comm, gpu.handle()));
      second.replay(gpu.handle());
    }
    EXPECT_DONE(gpu.wait());
    EXPECT_THAT(gpu.words_in(a), Each(1U << 8));
    EXPECT_THAT(gpu.words_in(b), Each(1U << 8));
  });
}

// Calls of one communicator in two branches of a graph: they run one after the other, as plain
// ones.
TEST(GpuGraphs, SpanStreams) {
  run_gpus(2, 2, {}, [](int rank, GpuRank& gpu, ncclComm_t comm) {
    const auto side = gpu.new_stream();
    const auto forked = gpu.new_event();
    const auto joined = gpu.new_event();
    const auto a = gpu.words(kWords, static_cast<uint32_t>(rank));
    const auto b = gpu.words(kWords, 2);
    const Graph graph(gpu, [&] {
      EXPECT_DONE(forked.record(gpu.handle()));
      EXPECT_DONE(forked.hold_back(side.get()));
      for (int turn = 0; turn < 3; ++turn) {
        EXPECT_NCCL(sum(a, a, comm, gpu.handle()));
        EXPECT_NCCL(sum(b, b, comm, side.get()));
      }
      EXPECT_NCCL(ncclGroupStart());
      EXPECT_NCCL(sum(a, a, comm, side.get()));
      EXPECT_NCCL(sum(b, b, comm, gpu.handle()));
      EXPECT_NCCL(ncclGroupEnd());
      EXPECT_DONE(joined.record(side.get()));
      EXPECT_DONE(joined.hold_back(gpu.handle()));
    });
    for (int turn = 0; turn < 5; ++turn) graph.replay(gpu.handle());
    EXPECT_DONE(gpu.wait());
    EXPECT_THAT(gpu.words_in(a), Each(1U << 19));
    EXPECT_THAT(gpu.words_in(b), Each(1U << 21));
  });
}

TEST(GpuGraphs, AndPlainCallsOnOtherStreamsKeepTheirOrder) {
  run_gpus(2, 2, {}, [](int rank, GpuRank& gpu, ncclComm_t comm) {
    const auto side = gpu.new_stream();
    const auto a = gpu.words(kWords, static_cast<uint32_t>(rank));
    const auto b = gpu.words(kWords, 1);
    const Graph first(gpu, [&] { EXPECT_NCCL(sum(a, a, comm, gpu.handle())); });
    const Graph second(gpu, [&] { EXPECT_NCCL(sum(b, b, comm, gpu.handle())); });
    for (int turn = 0; turn < 6; ++turn) {
      first.replay(gpu.handle());
      EXPECT_NCCL(sum(b, b, comm, side.get()));
      second.replay(side.get());
    }
    EXPECT_DONE(gpu.wait());
    EXPECT_DONE(gpu.wait(side.get()));
    EXPECT_THAT(gpu.words_in(a), Each(1U << 5));
    EXPECT_THAT(gpu.words_in(b), Each(1U << 12));
  });
}

TEST(GpuGraphs, AGroupIsCapturedIntoOneGraphOrNotAtAll) {
  run_gpus(2, 2, {}, [](int, GpuRank& gpu, ncclComm_t comm) {
    const auto side = gpu.new_stream();
    const auto a = gpu.words(kWords, 1);
    const Graph graph(gpu, [&] {
      EXPECT_NCCL(ncclGroupStart());
      EXPECT_NCCL(sum(a, a, comm, gpu.handle()));
      EXPECT_NCCL(sum(a, a, comm, side.get()));
      EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
      EXPECT_THAT(ncclGetLastError(comm), HasSubstr("capture all of them into one graph, or none"));
      EXPECT_NCCL(sum(a, a, comm, gpu.handle()));  // nothing is lost
    });
    graph.replay(gpu.handle());
    EXPECT_DONE(gpu.wait());
    EXPECT_THAT(gpu.words_in(a), Each(2U));
  });
}

// One thread, two ranks: the group's calls are captured into a graph for each GPU.
TEST(GpuGraphs, CommunicatorsOfAGroupMayHaveGraphsOfTheirOwn) {
  std::vector<std::unique_ptr<GpuRank>> gpus;
  for (int device = 0; device < 2; ++device) gpus.push_back(std::make_unique<GpuRank>(device));
  std::array<ncclComm_t, 2> comms{};
  ASSERT_EQ(ncclCommInitAll(comms.data(), 2, nullptr), ncclSuccess) << ncclGetLastError(nullptr);
  {
    std::vector<cuda::DeviceMemory> words;
    for (const auto& gpu : gpus) words.push_back(gpu->words(kWords, 1));
    std::unique_ptr<Graph> second;
    const Graph first(*gpus[0], [&] {
      second = std::make_unique<Graph>(*gpus[1], [&] {
        EXPECT_NCCL(ncclGroupStart());
        for (size_t i = 0; i < 2; ++i)
          EXPECT_NCCL(sum(words[i], words[i], comms[i], gpus[i]->handle()));
        EXPECT_NCCL(ncclGroupEnd());
      });
    });
    for (int turn = 0; turn < 3; ++turn) {
      first.replay(gpus[0]->handle());
      second->replay(gpus[1]->handle());
    }
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_DONE(gpus[i]->wait());
      EXPECT_THAT(gpus[i]->words_in(words[i]), Each(8U));
    }
  }
  for (const ncclComm_t comm : comms) EXPECT_NCCL(ncclCommDestroy(comm));
}

TEST(GpuGraphs, SendsAndReceivesAndWhatEndsBeforeTheReplayStayAlive) {
  run_gpus(3, 4, {}, [](int rank, GpuRank& gpu, ncclComm_t comm) {
    const auto a = gpu.words(kWords, static_cast<uint32_t>(rank));
    const auto b = gpu.words(kWords, 0);
    const Graph graph(gpu, [&] {
      EXPECT_NCCL(ncclGroupStart());
      EXPECT_NCCL(ncclSend(a.data(), kWords, ncclUint32, (rank + 1) % 3, comm, gpu.stream()));
      EXPECT_NCCL(ncclRecv(b.data(), kWords, ncclUint32, (rank + 2) % 3, comm, gpu.stream()));
      EXPECT_NCCL(ncclGroupEnd());
    });
    // More batches than the communicator remembers.
    for (uint64_t count = 1; count < 300; ++count) {
      EXPECT_NCCL(ncclGroupStart());
      EXPECT_NCCL(ncclSend(a.data(), count, ncclUint32, (rank + 1) % 3, comm, gpu.stream()));
      EXPECT_NCCL(ncclRecv(b.data(), count, ncclUint32, (rank + 2) % 3, comm, gpu.stream()));
      EXPECT_NCCL(ncclGroupEnd());
    }
    for (uint32_t turn = 0; turn < 3; ++turn) {
      gpu.fill(a, turn * 10 + static_cast<uint32_t>(rank), gpu.handle());
      graph.replay(gpu.handle());
      EXPECT_DONE(gpu.wait());
      EXPECT_THAT(gpu.words_in(b), Each(turn * 10 + static_cast<uint32_t>((rank + 2) % 3)));
    }
  });
}

TEST(GpuGraphs, DestroyWaitsUntilTheyAreGone) {
  const uint64_t before = standin::live_objects();
  meet_on_gpus(2, 2, {}, [](int, GpuRank& gpu, ncclComm_t comm) {
    const auto a = gpu.words(kWords, 1);
    auto graph = std::make_unique<Graph>(gpu, [&] { EXPECT_NCCL(sum(a, a, comm, gpu.handle())); });
    std::atomic<bool> gone{false};  // partner: the thread that destroys the graph
    std::thread program([&] {
      EXPECT_DONE(standin::program().cuCtxSetCurrent(gpu.context()));
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      graph->replay(gpu.handle());
      EXPECT_DONE(gpu.wait());
      gone = true;
      graph.reset();
    });
    EXPECT_NCCL(ncclCommDestroy(comm));
    EXPECT_TRUE(gone) << "the replay comes too late";
    program.join();
    EXPECT_THAT(gpu.words_in(a), Each(2U));
  });
  EXPECT_EQ(standin::live_objects(), before);
}

TEST(GpuGraphs, ThatOutliveTheirCommunicatorAreNamedAndHarmless) {
  const uint64_t before = standin::live_objects();
  testing::internal::CaptureStderr();
  meet_on_gpus(2, 2, {{"STRAIT_TIMEOUT_MS", "200"}}, [](int, GpuRank& gpu, ncclComm_t comm) {
    const auto a = gpu.words(kWords, 1);
    const Graph graph(gpu, [&] { EXPECT_NCCL(sum(a, a, comm, gpu.handle())); });
    EXPECT_NCCL(ncclCommDestroy(comm));
    graph.replay(gpu.handle());  // of no use, but it ends
    EXPECT_DONE(gpu.wait());
  });
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("graphs that hold 1 calls of this communicator on GPU"));
  EXPECT_EQ(objects_left(before), before);
}

TEST(GpuGraphs, AnAbortedCommunicatorDoesNotWaitForThem) {
  std::barrier captured(2);
  meet_on_gpus(2, 2, {}, [&](int, GpuRank& gpu, ncclComm_t comm) {
    const auto a = gpu.words(kWords, 1);
    const Graph graph(gpu, [&] { EXPECT_NCCL(sum(a, a, comm, gpu.handle())); });
    captured.arrive_and_wait();
    const Deadline soon = Deadline::after_ms(3'000);
    EXPECT_NCCL(ncclCommAbort(comm));
    EXPECT_FALSE(soon.passed());
    graph.replay(gpu.handle());
    EXPECT_DONE(gpu.wait());
  });
}

}  // namespace
}  // namespace strait::test
