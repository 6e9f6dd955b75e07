// Windows and one-sided calls on GPUs that go wrong: arguments, memory that GPUs cannot share,
// waits that nobody ends, peers that leave, aborts.
#include <gmock/gmock.h>

#include <latch>

#include "api/cuda/gpu_window.hpp"
#include "base/clock.hpp"

namespace strait::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr size_t kWords = 100;

void expect_refused(const std::function<ncclResult_t()>& call, ncclResult_t code,
                    const testing::Matcher<std::string>& text) {
  const Refusal told = refusal(call);
  EXPECT_EQ(told.result, code);
  EXPECT_THAT(told.text, text);
}

ncclResult_t async_error(ncclComm_t comm) {
  const Deadline deadline = Deadline::after_ms(8'000);
  ncclResult_t found = ncclSuccess;
  while (found == ncclSuccess && !deadline.passed()) {
    EXPECT_NCCL(ncclCommGetAsyncError(comm, &found));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return found;
}

TEST(GpuWindowFaults, BadArgumentsAreRefused) {
  run_gpus(2, 2, {}, [](int rank, GpuRank& gpu, ncclComm_t comm) {
    const GpuWindow window(gpu, comm, 8192);
    const auto words = gpu.words(kWords, 1);
    const int peer = 1 - rank;
    const auto put = [&](const void* from, ncclWindow_t to, size_t offset, cudaStream_t stream) {
      return ncclPutSignal(from, 1, ncclUint32, peer, to, offset, 0, 0, 0, comm, stream);
    };
    uint32_t host = 1;
    expect_refused([&] { return put(&host, window.name(), 0, gpu.stream()); }, ncclInvalidArgument,
                   AllOf(HasSubstr("localbuff"), HasSubstr("host memory")));
    expect_refused([&] { return put(words.data(), window.name(), 8190, gpu.stream()); },
                   ncclInvalidArgument, HasSubstr("leave the window"));
    expect_refused([&] { return put(words.data(), nullptr, 0, gpu.stream()); }, ncclInvalidArgument,
                   HasSubstr("no window of this communicator"));
    {
      const GpuRank other(2);
      const auto elsewhere = other.words(kWords, 1);
      expect_refused([&] { return put(elsewhere.data(), window.name(), 0, gpu.stream()); },
                     ncclInvalidArgument, HasSubstr("memory of GPU 2"));
      expect_refused([&] { return put(words.data(), window.name(), 0, other.stream()); },
                     ncclInvalidArgument, HasSubstr("the stream is of GPU 2"));
    }
    EXPECT_DONE(standin::program().cuCtxSetCurrent(gpu.context()));
    window.meet(gpu);
  });
}

// Registration is collective: what one rank gets wrong, all learn, and the next one works.
TEST(GpuWindowFaults, ABadWindowFailsOnAllRanks) {
  run_gpus(2, 2, {}, [](int rank, GpuRank& gpu, ncclComm_t comm) {
    const GpuWindow window(gpu, comm, 8192);
    alignas(4096) static char host[8192];
    ncclWindow_t bad = nullptr;
    void* const memory = rank == 0 ? static_cast<void*>(host) : window.memory();
    EXPECT_EQ(ncclCommWindowRegister(comm, memory, 4096, &bad, 0), ncclInvalidArgument);
    EXPECT_EQ(bad, nullptr);
    window.meet(gpu);
  });
}

TEST(GpuWindowFaults, AWindowLiesInOneAllocation) {
  run_gpus(2, 2, {}, [](int, GpuRank& gpu, ncclComm_t comm) {
    const GpuWindow window(gpu, comm, 8192);
    ncclWindow_t bad = nullptr;
    EXPECT_EQ(ncclCommWindowRegister(comm, window.memory(), size_t{1} << 40, &bad, 0),
              ncclInvalidArgument);
    EXPECT_EQ(bad, nullptr);
  });
}

// As NCCL: success, and no window, on every rank.
TEST(GpuWindowFaults, MemoryThatGpusCannotShareMakesNoWindow) {
  run_gpus(2, 2, {}, [](int rank, GpuRank& gpu, ncclComm_t comm) {
    const GpuWindow window(gpu, comm, 8192);
    const auto plain = gpu.memory(8192);
    auto none = reinterpret_cast<ncclWindow_t>(uintptr_t{1});
    void* const memory = rank == 0 ? plain.data() : window.memory();
    EXPECT_NCCL(ncclCommWindowRegister(comm, memory, 4096, &none, 0));
    EXPECT_EQ(none, nullptr);
    window.meet(gpu);
  });
}

// Where nobody has to share it, any memory of the GPU is a window.
TEST(GpuWindowFaults, AnyMemoryIsAWindowForOtherDomains) {
  run_gpus(2, 2, {{"STRAIT_EMULATE_DOMAINS", "1"}}, [](int rank, GpuRank& gpu, ncclComm_t comm) {
    const auto plain = gpu.words(2048, 0);
    const auto words = gpu.words(kWords, static_cast<uint32_t>(rank + 1));
    ncclWindow_t window = nullptr;
    EXPECT_NCCL(ncclCommWindowRegister(comm, plain.data(), 4096, &window, 0));
    ncclWaitSignalDesc_t wait = {1, 1 - rank, 0, 0};
    EXPECT_NCCL(ncclPutSignal(words.data(), kWords, ncclUint32, 1 - rank, window, 0, 0, 0, 0, comm,
                              gpu.stream()));
    EXPECT_NCCL(ncclWaitSignal(1, &wait, comm, gpu.stream()));
    EXPECT_DONE(gpu.wait());
    EXPECT_EQ(gpu.words_in(plain)[kWords - 1], static_cast<uint32_t>(2 - rank));
    EXPECT_NCCL(ncclCommWindowDeregister(comm, window));
  });
}

TEST(GpuWindowFaults, AWaitEndsWithItsDeadlineAndSaysForWhom) {
  for (const char* domains : {"0", "1"}) {
    std::latch told(1);
    meet_on_gpus(2, 2, {{"STRAIT_TIMEOUT_MS", "300"}, {"STRAIT_EMULATE_DOMAINS", domains}},
                 [&](int rank, GpuRank& gpu, ncclComm_t comm) {
                   GpuWindow window(gpu, comm, 4096);
                   if (rank == 1) told.wait();
                   if (rank == 0) {
                     ncclWaitSignalDesc_t wait = {2, 1, 0, 0};
                     EXPECT_NCCL(ncclWaitSignal(1, &wait, comm, gpu.stream()));
                     EXPECT_EQ(async_error(comm), ncclTimeout);
                     EXPECT_THAT(ncclGetLastError(comm),
                                 HasSubstr("0 of 2 signals 0 in context 0 have come from rank 1"));
                     EXPECT_DONE(gpu.wait());
                     told.count_down();
                   }
                   window.close();
                   EXPECT_NCCL(ncclCommAbort(comm));
                 });
  }
}

TEST(GpuWindowFaults, AWaitEndsWithItsPeer) {
  for (const char* domains : {"0", "1"})
    meet_on_gpus(2, 2, {{"STRAIT_EMULATE_DOMAINS", domains}},
                 [&](int rank, GpuRank& gpu, ncclComm_t comm) {
                   GpuWindow window(gpu, comm, 4096);
                   if (rank == 0) {
                     ncclWaitSignalDesc_t wait = {1, 1, 0, 0};
                     EXPECT_NCCL(ncclWaitSignal(1, &wait, comm, gpu.stream()));
                     EXPECT_NE(async_error(comm), ncclSuccess) << "rank 1 leaves";
                     EXPECT_DONE(gpu.wait());
                   }
                   window.close();
                   EXPECT_NCCL(rank == 0 ? ncclCommAbort(comm) : ncclCommDestroy(comm));
                 });
}

// Signals that came before the peer left count.
TEST(GpuWindowFaults, WhatAPeerSentBeforeItLeftCounts) {
  for (const char* domains : {"0", "1"})
    run_gpus(2, 2, {{"STRAIT_EMULATE_DOMAINS", domains}, {"STRAIT_RMA_EAGER_INIT", "1"}},
             [&](int rank, GpuRank& gpu, ncclComm_t comm) {
               if (rank == 1) {
                 EXPECT_NCCL(ncclSignal(0, 0, 0, 0, comm, gpu.stream()));
                 return;
               }
               std::this_thread::sleep_for(std::chrono::milliseconds(200));
               ncclWaitSignalDesc_t wait = {1, 1, 0, 0};
               EXPECT_NCCL(ncclWaitSignal(1, &wait, comm, gpu.stream()));
               EXPECT_DONE(gpu.wait());
               ncclResult_t state = ncclSuccess;
               EXPECT_NCCL(ncclCommGetAsyncError(comm, &state));
               EXPECT_EQ(state, ncclSuccess);
             });
}

TEST(GpuWindowFaults, AnAbortEndsWaits) {
  const uint64_t before = standin::live_objects();
  meet_on_gpus(2, 2, {}, [](int, GpuRank& gpu, ncclComm_t comm) {
    GpuWindow window(gpu, comm, 4096);
    ncclWaitSignalDesc_t wait = {1, 0, 0, 0};
    EXPECT_NCCL(ncclWaitSignal(1, &wait, comm, gpu.stream()));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const Deadline soon = Deadline::after_ms(5'000);
    EXPECT_NCCL(ncclCommAbort(comm));
    EXPECT_DONE(gpu.wait());
    EXPECT_FALSE(soon.passed());
    window.forget();
  });
  EXPECT_EQ(objects_left(before), before);
}

}  // namespace
}  // namespace strait::test
