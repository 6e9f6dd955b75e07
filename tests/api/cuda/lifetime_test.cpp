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

// Threads of the stand-in's streams and connections end some time after their work.
size_t entries_at_most(size_t limit, const char* folder) {
  size_t count = 0;
  for (int look = 0; look < 2000; ++look) {
    count = entries_of(folder);
    if (count <= limit) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return count;
}
size_t threads_at_most(size_t limit) {
  return entries_at_most(limit, "/proc/self/task");
}
size_t files_at_most(size_t limit) {
  return entries_at_most(limit, "/proc/self/fd");
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
  const uint64_t objects = standin::live_objects();
  const size_t files = files_at_most(0);
  for (int turn = 0; turn < 100; ++turn) live_once(turn);
  EXPECT_EQ(standin::live_objects(), objects);
  EXPECT_LE(files_at_most(files), files);
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
