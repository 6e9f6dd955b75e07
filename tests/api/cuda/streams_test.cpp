// Order on streams: what comes before a call is seen by it, what comes after sees its result, and
// calls of one communicator keep their order on whatever streams they are.
#include <gmock/gmock.h>

#include "api/cuda/gpu_rank.hpp"

namespace strait::test {
namespace {

using testing::Each;

constexpr size_t kWords = 5000;

ncclResult_t sum(const cuda::DeviceMemory& in, const cuda::DeviceMemory& out, ncclComm_t comm,
                 cuda::StreamHandle stream) {
  return ncclAllReduce(in.data(), out.data(), kWords, ncclUint32, ncclSum, comm, as_nccl(stream));
}

// The stream comes to its work only when the returned stream has set the flag.
class Gate {
 public:
  Gate(const GpuRank& gpu, cuda::StreamHandle held)
      : gpu_(gpu), flag_(gpu.words(2, 0)), key_(gpu.new_stream()) {
    gpu.wait_for_flag(flag_, 1, held);
  }
  void open() { gpu_.set_flag(flag_, 1, key_.get()); }
  ~Gate() { EXPECT_DONE(gpu_.wait(key_.get())); }

 private:
  const GpuRank& gpu_;
  cuda::DeviceMemory flag_;
  cuda::Stream key_;
};

TEST(GpuStreams, KernelsBeforeAndAfterSeeTheCallInOrder) {
  run_gpus(3, 4, {}, [](int rank, GpuRank& gpu, ncclComm_t comm) {
    const auto in = gpu.words(kWords, 0);
    const auto out = gpu.words(kWords, 0);
    const auto copy = gpu.words(kWords, 0);
    for (uint32_t turn = 1; turn <= 5; ++turn) {
      Gate gate(gpu, gpu.handle());
      gpu.fill(in, turn * 10 + static_cast<uint32_t>(rank), gpu.handle());
      EXPECT_NCCL(sum(in, out, comm, gpu.handle()));
      gpu.add(out, 1000, gpu.handle());
      EXPECT_DONE(
          cuda::copy(gpu.driver(), copy.pointer(), out.pointer(), kWords * 4, gpu.handle()));
      gpu.fill(out, 7, gpu.handle());
      gate.open();
      EXPECT_DONE(gpu.wait());
      EXPECT_THAT(gpu.words_in(copy), Each(turn * 30 + 3 + 1000));
      EXPECT_THAT(gpu.words_in(out), Each(7U));
    }
  });
}

TEST(GpuStreams, ACallReturnsBeforeItsStreamHasComeToIt) {
  run_gpus(2, 4, {}, [](int, GpuRank& gpu, ncclComm_t comm) {
    const auto in = gpu.words(kWords, 2);
    const auto out = gpu.words(kWords, 0);
    Gate gate(gpu, gpu.handle());
    for (int turn = 0; turn < 3; ++turn) EXPECT_NCCL(sum(in, out, comm, gpu.handle()));
    EXPECT_FALSE(must(cuda::is_idle(gpu.driver(), gpu.handle())));
    gate.open();
    EXPECT_DONE(gpu.wait());
    EXPECT_THAT(gpu.words_in(out), Each(4U));
  });
}

TEST(GpuStreams, CallsOnStreamsInTurnKeepTheirOrder) {
  run_gpus(2, 2, {}, [](int rank, GpuRank& gpu, ncclComm_t comm) {
    const auto first = gpu.new_stream();
    const auto second = gpu.new_stream();
    const auto a = gpu.words(kWords, static_cast<uint32_t>(rank));
    const auto b = gpu.words(kWords, 100);
    for (int turn = 0; turn < 4; ++turn) {
      // The later call's stream is free while the earlier one's is held.
      Gate gate(gpu, first.get());
      EXPECT_NCCL(sum(a, a, comm, first.get()));
      EXPECT_NCCL(sum(b, b, comm, second.get()));
      gate.open();
    }
    EXPECT_DONE(gpu.wait(first.get()));
    EXPECT_DONE(gpu.wait(second.get()));
    EXPECT_THAT(gpu.words_in(a), Each(8U));
    EXPECT_THAT(gpu.words_in(b), Each(1600U));
  });
}

// A new stream may have the handle of one that was destroyed with work in it.
TEST(GpuStreams, AStreamInThePlaceOfADestroyedOneIsAnother) {
  run_gpus(2, 2, {}, [](int rank, GpuRank& gpu, ncclComm_t comm) {
    const auto a = gpu.words(kWords, static_cast<uint32_t>(rank));
    for (int turn = 0; turn < 4; ++turn) {
      auto stream = gpu.new_stream();
      Gate gate(gpu, stream.get());
      EXPECT_NCCL(sum(a, a, comm, stream.get()));
      stream = cuda::Stream();
      stream = gpu.new_stream();
      EXPECT_NCCL(sum(a, a, comm, stream.get()));
      gate.open();
      EXPECT_DONE(gpu.wait(stream.get()));
    }
    EXPECT_THAT(gpu.words_in(a), Each(1U << 7));
  });
}

TEST(GpuStreams, AllStreamsOfAGroupWaitForEachOther) {
  run_gpus(2, 2, {}, [](int, GpuRank& gpu, ncclComm_t comm) {
    const auto first = gpu.new_stream();
    const auto second = gpu.new_stream();
    const auto a = gpu.words(kWords, 1);
    const auto b = gpu.words(kWords, 2);
    const auto seen = gpu.words(kWords, 0);
    for (const bool hold_first : {true, false}) {
      Gate gate(gpu, hold_first ? first.get() : second.get());
      gpu.fill(a, 3, first.get());
      gpu.fill(b, 5, second.get());
      EXPECT_NCCL(ncclGroupStart());
      EXPECT_NCCL(sum(a, a, comm, first.get()));
      EXPECT_NCCL(sum(b, b, comm, second.get()));
      EXPECT_NCCL(ncclGroupEnd());
      // Each stream sees the result that was given to the other.
      EXPECT_DONE(cuda::copy(gpu.driver(), seen.pointer(), a.pointer(), kWords * 4, second.get()));
      EXPECT_FALSE(must(cuda::is_idle(gpu.driver(), hold_first ? second.get() : first.get())))
          << "it goes on without the others";
      gate.open();
      EXPECT_DONE(gpu.wait(second.get()));
      EXPECT_THAT(gpu.words_in(seen), Each(6U));
      EXPECT_DONE(gpu.wait(first.get()));
      EXPECT_THAT(gpu.words_in(b), Each(10U));
    }
  });
}

TEST(GpuStreams, TheDefaultStreamsAreInOrderWithTheProgramsWork) {
  for (const cuda::StreamHandle stream :
       {cuda::StreamHandle{}, cuda::legacy_stream(), cuda::per_thread_stream()})
    run_gpus(2, 2, {}, [stream](int rank, GpuRank& gpu, ncclComm_t comm) {
      const auto in = gpu.words(kWords, 0);
      for (uint32_t turn = 1; turn < 4; ++turn) {
        Gate gate(gpu, stream);
        gpu.fill(in, turn + static_cast<uint32_t>(rank), stream);
        EXPECT_NCCL(sum(in, in, comm, stream));
        gpu.add(in, 1, stream);
        gate.open();
        EXPECT_DONE(gpu.wait(stream));
        EXPECT_THAT(gpu.words_in(in), Each(2 * turn + 2));
      }
    });
}

// One thread, two ranks, each on its GPU; the per-thread stream is that of the caller even so.
TEST(GpuStreams, GroupsOfSeveralCommunicatorsUseTheCallersPerThreadStream) {
  std::vector<std::unique_ptr<GpuRank>> gpus;
  for (int device = 0; device < 2; ++device) gpus.push_back(std::make_unique<GpuRank>(device));
  std::array<ncclComm_t, 2> comms{};
  ASSERT_EQ(ncclCommInitAll(comms.data(), 2, nullptr), ncclSuccess) << ncclGetLastError(nullptr);
  const cuda::StreamHandle stream = cuda::per_thread_stream();
  std::vector<cuda::DeviceMemory> words;
  for (const auto& gpu : gpus) words.push_back(gpu->words(kWords, 1));
  for (int turn = 0; turn < 3; ++turn) {
    EXPECT_NCCL(ncclGroupStart());
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_DONE(standin::program().cuCtxSetCurrent(gpus[i]->context()));
      gpus[i]->add(words[i], 1, stream);
      EXPECT_NCCL(sum(words[i], words[i], comms[i], stream));
    }
    EXPECT_NCCL(ncclGroupEnd());
  }
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_DONE(standin::program().cuCtxSetCurrent(gpus[i]->context()));
    gpus[i]->add(words[i], 1, stream);
    EXPECT_DONE(gpus[i]->wait(stream));
    EXPECT_THAT(gpus[i]->words_in(words[i]), Each(((1U + 1) * 2 + 1) * 4 + 2 + 1));
  }
  for (const ncclComm_t comm : comms) EXPECT_NCCL(ncclCommDestroy(comm));
}

TEST(GpuStreams, TheDeviceFactorIsReadWhenTheStreamComesToIt) {
  run_gpus(2, 2, {}, [](int, GpuRank& gpu, ncclComm_t comm) {
    const auto factor = gpu.words(1, 1);
    const auto in = gpu.words(kWords, 5);
    ncclRedOp_t op{};
    EXPECT_NCCL(ncclRedOpCreatePreMulSum(&op, factor.data(), ncclUint32, ncclScalarDevice, comm));
    Gate gate(gpu, gpu.handle());
    gpu.fill(factor, 3, gpu.handle());
    EXPECT_NCCL(ncclAllReduce(in.data(), in.data(), kWords, ncclUint32, op, comm, gpu.stream()));
    EXPECT_NCCL(ncclRedOpDestroy(op, comm));
    gpu.fill(factor, 9, gpu.handle());
    gate.open();
    EXPECT_DONE(gpu.wait());
    EXPECT_THAT(gpu.words_in(in), Each(30U));
  });
}

// What is current in the calling thread stays so, whatever is called and whether it works or not.
TEST(GpuStreams, TheCallersContextStaysCurrent) {
  const GpuRank other(3);
  run_gpus(2, 2, {}, [&](int, GpuRank& gpu, ncclComm_t comm) {
    const auto in = gpu.words(kWords, 5);
    for (const cuda::ContextHandle context :
         {gpu.context(), other.context(), cuda::ContextHandle{}}) {
      EXPECT_DONE(standin::program().cuCtxSetCurrent(context));
      const auto expect_unchanged = [&](const char* after) {
        EXPECT_EQ(must(cuda::current_context(gpu.driver())), context) << after;
      };
      EXPECT_NCCL(sum(in, in, comm, gpu.handle()));
      expect_unchanged("a collective");
      EXPECT_EQ(ncclAllReduce(nullptr, in.data(), 1, ncclInt, ncclSum, comm, gpu.stream()),
                ncclInvalidArgument);
      expect_unchanged("a refused call");
      ncclResult_t async{};
      EXPECT_NCCL(ncclCommGetAsyncError(comm, &async));
      EXPECT_NCCL(ncclGroupStart());
      EXPECT_NCCL(sum(in, in, comm, gpu.handle()));
      EXPECT_NCCL(ncclGroupEnd());
      expect_unchanged("a group");
      ncclComm_t child = nullptr;
      EXPECT_NCCL(ncclCommSplit(comm, 0, 0, &child, nullptr));
      expect_unchanged("a split");
      EXPECT_NCCL(sum(in, in, child, gpu.handle()));
      EXPECT_NCCL(ncclCommFinalize(child));
      EXPECT_NCCL(ncclCommDestroy(child));
      expect_unchanged("the end of a communicator");
    }
    EXPECT_DONE(standin::program().cuCtxSetCurrent(gpu.context()));
    EXPECT_DONE(gpu.wait());
  });
}

// Two communicators of one GPU, on two streams: the first one's call waits for the program. With
// the host's order kept the second one's comes behind it, else it ends at once.
TEST(GpuLaunchOrder, IsThatOfTheHostWhereTheProgramWantsIt) {
  for (const bool keeps : {false, true})
    run_gpus(2, 2, {{"NCCL_LAUNCH_ORDER_IMPLICIT", keeps ? "1" : "0"}},
             [&](int, GpuRank& gpu, ncclComm_t comm) {
               ncclComm_t child = nullptr;
               EXPECT_NCCL(ncclCommSplit(comm, 0, 0, &child, nullptr));
               const auto other = gpu.new_stream();
               const auto key = gpu.new_stream();
               const auto flag = gpu.words(2, 0);
               const auto a = gpu.words(100, 1);
               const auto b = gpu.words(100, 1);
               const auto call = [&](const cuda::DeviceMemory& words, ncclComm_t on,
                                     cuda::StreamHandle stream) {
                 EXPECT_NCCL(ncclAllReduce(words.data(), words.data(), 100, ncclUint32, ncclSum, on,
                                           as_nccl(stream)));
               };
               call(a, comm, gpu.handle());
               call(b, child, gpu.handle());
               EXPECT_DONE(gpu.wait());
               gpu.wait_for_flag(flag, 1, gpu.handle());
               call(a, comm, gpu.handle());
               call(b, child, other.get());
               if (keeps) {
                 std::this_thread::sleep_for(std::chrono::milliseconds(100));
                 EXPECT_FALSE(must(cuda::is_idle(gpu.driver(), other.get())));
               } else {
                 EXPECT_DONE(gpu.wait(other.get()));
               }
               gpu.set_flag(flag, 1, key.get());
               EXPECT_DONE(gpu.wait());
               EXPECT_DONE(gpu.wait(other.get()));
               EXPECT_DONE(gpu.wait(key.get()));
               EXPECT_THAT(gpu.words_in(b), Each(4U));
               EXPECT_NCCL(ncclCommDestroy(child));
             });
}

}  // namespace
}  // namespace strait::test
