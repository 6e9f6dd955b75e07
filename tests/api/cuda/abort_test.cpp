// When something goes wrong on a GPU: whoever waits ends in bounded time, with the reason, on every
// rank, and without anybody's asking.
#include <gmock/gmock.h>

#include <barrier>

#include "api/cuda/gpu_rank.hpp"
#include "base/clock.hpp"

namespace strait::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr size_t kWords = 3000;
const Settings kSoon = {{"STRAIT_TIMEOUT_MS", "400"}};

ncclResult_t sum(const cuda::DeviceMemory& words, ncclComm_t comm, cuda::StreamHandle stream) {
  return ncclAllReduce(words.data(), words.data(), kWords, ncclUint32, ncclSum, comm,
                       as_nccl(stream));
}

// Polls, as programs do, until the communicator tells a failure.
ncclResult_t async_error(ncclComm_t comm, int64_t limit_ms = 5'000) {
  const Deadline deadline = Deadline::after_ms(limit_ms);
  ncclResult_t found = ncclSuccess;
  while (found == ncclSuccess && !deadline.passed()) {
    EXPECT_NCCL(ncclCommGetAsyncError(comm, &found));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return found;
}

TEST(GpuAbort, EndsKernelsThatWaitForAPeerThatNeverCalls) {
  const uint64_t before = standin::live_objects();
  meet_on_gpus(3, 4, {}, [](int rank, GpuRank& gpu, ncclComm_t comm) {
    const auto words = gpu.words(kWords, 1);
    EXPECT_NCCL(sum(words, comm, gpu.handle()));
    EXPECT_DONE(gpu.wait());
    for (int call = 0; call < 3 && rank != 0; ++call) EXPECT_NCCL(sum(words, comm, gpu.handle()));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const Deadline soon = Deadline::after_ms(5'000);
    // By another thread than the one that made the calls.
    std::thread([&] { EXPECT_NCCL(ncclCommAbort(comm)); }).join();
    EXPECT_DONE(gpu.wait());
    EXPECT_FALSE(soon.passed());
  });
  EXPECT_EQ(standin::live_objects(), before);
}

TEST(GpuAbort, OfOneRankEndsTheOthersWithItsReason) {
  meet_on_gpus(3, 4, {}, [](int rank, GpuRank& gpu, ncclComm_t comm) {
    const auto words = gpu.words(kWords, 1);
    EXPECT_NCCL(sum(words, comm, gpu.handle()));
    EXPECT_DONE(gpu.wait());
    if (rank == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      EXPECT_NCCL(ncclCommAbort(comm));
      return;
    }
    EXPECT_NCCL(sum(words, comm, gpu.handle()));
    EXPECT_EQ(async_error(comm), ncclRemoteError);
    EXPECT_THAT(ncclGetLastError(comm), HasSubstr("abort"));
    EXPECT_DONE(gpu.wait());
    EXPECT_EQ(sum(words, comm, gpu.handle()), ncclRemoteError);
    EXPECT_NCCL(ncclCommAbort(comm));
  });
}

TEST(GpuAbort, EndsACallThatStillOpensItsLinks) {
  meet_on_gpus(2, 2, {}, [](int rank, GpuRank& gpu, ncclComm_t comm) {
    const auto words = gpu.words(kWords, 1);
    if (rank == 0) {
      std::thread killer([comm] {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        EXPECT_NCCL(ncclCommAbort(comm));
      });
      EXPECT_NE(sum(words, comm, gpu.handle()), ncclSuccess);
      killer.join();
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      EXPECT_NCCL(ncclCommAbort(comm));
    }
  });
}

// What the stream has before the calls never ends until it is told: aborting does not wait for it.
TEST(GpuAbort, DoesNotWaitForTheProgramsKernels) {
  const uint64_t before = standin::live_objects();
  std::barrier called(2);  // a peer that aborts first would fail the other's calls
  meet_on_gpus(2, 2, {}, [&](int, GpuRank& gpu, ncclComm_t comm) {
    const auto words = gpu.words(kWords, 1);
    const auto flag = gpu.words(2, 0);
    const auto key = gpu.new_stream();
    EXPECT_NCCL(sum(words, comm, gpu.handle()));
    gpu.wait_for_flag(flag, 1, gpu.handle());
    EXPECT_NCCL(sum(words, comm, gpu.handle()));
    called.arrive_and_wait();
    const Deadline soon = Deadline::after_ms(9'000);
    EXPECT_NCCL(ncclCommAbort(comm));
    EXPECT_FALSE(soon.passed());
    gpu.set_flag(flag, 1, key.get());
    EXPECT_DONE(gpu.wait());
    EXPECT_DONE(gpu.wait(key.get()));
  });
  EXPECT_EQ(objects_left(before), before);
}

TEST(GpuDeadline, NamesWhoWaitsForWhomInWhichCall) {
  meet_on_gpus(2, 2, kSoon, [](int rank, GpuRank& gpu, ncclComm_t comm) {
    const auto words = gpu.words(kWords, 1);
    EXPECT_NCCL(sum(words, comm, gpu.handle()));
    EXPECT_DONE(gpu.wait());
    if (rank == 0) {
      EXPECT_NCCL(sum(words, comm, gpu.handle()));
      EXPECT_NE(async_error(comm), ncclSuccess);
      EXPECT_THAT(
          ncclGetLastError(comm),
          AllOf(HasSubstr("nothing moved for 400 ms: all_reduce uint32 sum (call 1) on GPU 0"),
                HasSubstr("waits for a message of rank 1")));
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(700));
      const ncclResult_t called = sum(words, comm, gpu.handle());
      EXPECT_NE(called == ncclSuccess ? async_error(comm) : called, ncclSuccess);
      EXPECT_THAT(ncclGetLastError(comm), HasSubstr("nothing moved for 400 ms"));
    }
    EXPECT_DONE(gpu.wait());
    EXPECT_NCCL(ncclCommDestroy(comm));
  });
}

TEST(GpuDeadline, DoesNotCountTheProgramsOwnWork) {
  run_gpus(2, 2, kSoon, [](int, GpuRank& gpu, ncclComm_t comm) {
    const auto words = gpu.words(kWords, 1);
    const auto flag = gpu.words(2, 0);
    const auto key = gpu.new_stream();
    EXPECT_NCCL(sum(words, comm, gpu.handle()));
    gpu.wait_for_flag(flag, 1, gpu.handle());
    EXPECT_NCCL(sum(words, comm, gpu.handle()));
    std::this_thread::sleep_for(std::chrono::milliseconds(900));
    gpu.set_flag(flag, 1, key.get());
    EXPECT_DONE(gpu.wait());
    ncclResult_t async{};
    EXPECT_NCCL(ncclCommGetAsyncError(comm, &async));
    EXPECT_EQ(async, ncclSuccess);
  });
}

TEST(GpuDeadline, OfNoneIsADay) {
  run_gpus(2, 2, {{"STRAIT_TIMEOUT_MS", "0"}}, [](int, GpuRank& gpu, ncclComm_t comm) {
    const auto words = gpu.words(kWords, 1);
    for (int call = 0; call < 3; ++call) EXPECT_NCCL(sum(words, comm, gpu.handle()));
    EXPECT_DONE(gpu.wait());
  });
}

using Call = std::function<ncclResult_t(void*, ncclComm_t, cudaStream_t)>;

// Rank 0 calls one thing, the others another: every rank is told, by the same sentence.
void expect_mismatch(const Call& here, const Call& there, bool called_before) {
  std::barrier all(3);
  meet_on_gpus(3, 4, {{"STRAIT_TIMEOUT_MS", "3000"}}, [&](int rank, GpuRank& gpu, ncclComm_t comm) {
    const auto words = gpu.words(2 * kWords, 1);
    if (called_before)
      for (const Call* call : {&here, &there}) {
        EXPECT_NCCL((*call)(words.data(), comm, gpu.stream()));
        EXPECT_DONE(gpu.wait());
      }
    const ncclResult_t called = (rank == 0 ? here : there)(words.data(), comm, gpu.stream());
    EXPECT_NE(called == ncclSuccess ? async_error(comm) : called, ncclSuccess);
    EXPECT_THAT(ncclGetLastError(comm), HasSubstr("all ranks must make the same calls"));
    EXPECT_DONE(gpu.wait());
    all.arrive_and_wait();  // nobody leaves before all know
    EXPECT_NCCL(ncclCommDestroy(comm));
  });
}

Call all_reduce(size_t count, ncclDataType_t type, ncclRedOp_t op) {
  return [=](void* words, ncclComm_t comm, cudaStream_t stream) {
    return ncclAllReduce(words, words, count, type, op, comm, stream);
  };
}

TEST(GpuMismatch, IsToldOnEveryRank) {
  const Call usual = all_reduce(kWords, ncclUint32, ncclSum);
  const Call broadcast = [](void* words, ncclComm_t comm, cudaStream_t stream) {
    return ncclBroadcast(words, words, kWords, ncclUint32, 0, comm, stream);
  };
  for (const bool called_before : {true, false}) {
    SCOPED_TRACE(called_before ? "called before" : "called for the first time");
    expect_mismatch(usual, all_reduce(kWords, ncclInt32, ncclSum), called_before);
    expect_mismatch(usual, all_reduce(kWords, ncclUint32, ncclMax), called_before);
    expect_mismatch(usual, all_reduce(kWords - 1, ncclUint32, ncclSum), called_before);
    expect_mismatch(usual, broadcast, called_before);
  }
}

// An illegal access of the program breaks its context, and no rank waits for that for ever. The
// context is of no more use in this process; so each test of this kind has a process of its own.
TEST(GpuAbort, AKernelOfTheProgramThatFaultsIsAnErrorAndNoHang) {
  meet_on_gpus(2, 2, {{"STRAIT_TIMEOUT_MS", "4000"}}, [](int rank, GpuRank& gpu, ncclComm_t comm) {
    const auto words = gpu.words(kWords, 1);
    EXPECT_NCCL(sum(words, comm, gpu.handle()));
    EXPECT_DONE(gpu.wait());
    const Deadline soon = Deadline::after_ms(3'000);
    if (rank == 0) {
      gpu.trap(gpu.handle());
      // Before or after the fault is noticed.
      const ncclResult_t called = sum(words, comm, gpu.handle());
      EXPECT_EQ(called == ncclSuccess ? async_error(comm) : called, ncclUnhandledCudaError);
      EXPECT_THAT(ncclGetLastError(comm), HasSubstr("a kernel broke the context"));
    } else {
      EXPECT_NCCL(sum(words, comm, gpu.handle()));
      EXPECT_NE(async_error(comm), ncclSuccess);
      EXPECT_DONE(gpu.wait());
    }
    EXPECT_FALSE(soon.passed());
    EXPECT_NCCL(ncclCommAbort(comm));
  });
}

}  // namespace
}  // namespace strait::test
