// Communicators on GPUs come and go without a trace: objects of the driver, threads and file
// descriptors stay as many as before.
#include <gmock/gmock.h>

#include <barrier>
#include <filesystem>

#include "api/cuda/gpu_rank.hpp"

namespace strait::test {
namespace {

size_t entries_of(const char* folder) {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++count;
  return count;
}

struct Held {
  uint64_t objects = standin::live_objects();
  size_t files = entries_of("/proc/self/fd");

  bool operator==(const Held&) const = default;
};

// Threads of the stand-in's streams end some time after their work.
size_t threads_at_most(size_t limit) {
  size_t count = 0;
  for (int look = 0; look < 2000; ++look) {
    count = entries_of("/proc/self/task");
    if (count <= limit) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return count;
}

TEST(GpuLifetime, AHundredCommunicatorsLeaveNothing) {
  std::vector<std::unique_ptr<GpuRank>> gpus;
  std::vector<cuda::DeviceMemory> words;
  for (int device = 0; device < 2; ++device) {
    gpus.push_back(std::make_unique<GpuRank>(device));
    words.push_back(gpus.back()->words(1000, 1));
  }
  std::barrier both(2);
  const auto live_once = [&](int turn) {
    ncclUniqueId id;
    EXPECT_NCCL(ncclGetUniqueId(&id));
    on_threads(2, [&](int rank) {
      const GpuRank& gpu = *gpus[static_cast<size_t>(rank)];
      void* const buffer = words[static_cast<size_t>(rank)].data();
      EXPECT_DONE(standin::program().cuCtxSetCurrent(gpu.context()));
      ncclComm_t comm = nullptr;
      EXPECT_NCCL(ncclCommInitRank(&comm, 2, id, rank));
      EXPECT_NCCL(ncclAllReduce(buffer, buffer, 1000, ncclUint32, ncclSum, comm, gpu.stream()));
      EXPECT_NCCL(ncclGroupStart());
      EXPECT_NCCL(ncclSend(buffer, 500, ncclUint32, 1 - rank, comm, gpu.stream()));
      EXPECT_NCCL(ncclRecv(static_cast<uint32_t*>(buffer) + 500, 500, ncclUint32, 1 - rank, comm,
                           gpu.stream()));
      EXPECT_NCCL(ncclGroupEnd());
      // With work under way, or not.
      if (turn % 2 == 0) EXPECT_DONE(gpu.wait());
      both.arrive_and_wait();
      EXPECT_NCCL(turn % 4 < 2 ? ncclCommDestroy(comm) : ncclCommAbort(comm));
      EXPECT_DONE(gpu.wait());
    });
  };
  for (int turn = 0; turn < 4; ++turn) live_once(turn);
  const size_t threads = threads_at_most(0);
  const Held before;
  for (int turn = 0; turn < 100; ++turn) live_once(turn);
  const Held after;
  EXPECT_EQ(after.objects, before.objects);
  EXPECT_EQ(after.files, before.files);
  EXPECT_LE(threads_at_most(threads), threads);
}

TEST(GpuLifetime, ChildrenAndParentsGoInEitherOrder) {
  const uint64_t before = standin::live_objects();
  for (const bool child_first : {true, false})
    meet_on_gpus(3, 3, {}, [child_first](int rank, GpuRank& gpu, ncclComm_t comm) {
      const auto words = gpu.words(1000, 1);
      ncclComm_t child = nullptr;
      EXPECT_NCCL(ncclCommSplit(comm, 0, -rank, &child, nullptr));
      for (const ncclComm_t one : {comm, child, comm})
        EXPECT_NCCL(ncclAllReduce(words.data(), words.data(), 1000, ncclUint32, ncclSum, one,
                                  gpu.stream()));
      EXPECT_DONE(gpu.wait());
      EXPECT_THAT(gpu.words_in(words), testing::Each(27U));
      EXPECT_NCCL(ncclCommDestroy(child_first ? child : comm));
      EXPECT_NCCL(ncclCommDestroy(child_first ? comm : child));
    });
  EXPECT_EQ(standin::live_objects(), before);
}

}  // namespace
}  // namespace strait::test
