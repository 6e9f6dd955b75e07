// ncclMemAlloc where the caller is on a GPU: memory of that GPU, which peers can share.
#include <gmock/gmock.h>

#include "api/cuda/gpu_rank.hpp"
#include "base/cuda/pointer.hpp"

namespace strait::test {
namespace {

using testing::Each;
using testing::HasSubstr;

constexpr size_t kWords = 5000;

class Allocated {
 public:
  explicit Allocated(size_t bytes) {
    EXPECT_NCCL(ncclMemAlloc(&pointer_, bytes));
    EXPECT_NE(pointer_, nullptr);
  }
  ~Allocated() { EXPECT_NCCL(ncclMemFree(pointer_)); }
  Allocated(const Allocated&) = delete;
  Allocated& operator=(const Allocated&) = delete;
  void* get() const { return pointer_; }

 private:
  void* pointer_ = nullptr;
};

TEST(GpuMemory, IsOfTheCallersGpuAndCanBeShared) {
  const uint64_t before = standin::live_objects();
  for (int device = 0; device < 2; ++device) {
    const GpuRank gpu(device);
    const Allocated memory(kWords * 4);
    const cuda::PointerFacts facts = must(cuda::pointer_facts(gpu.driver(), memory.get()));
    EXPECT_EQ(facts.kind, cuda::MemoryKind::kDevice);
    EXPECT_EQ(facts.device, device);
    EXPECT_GE(facts.bytes, kWords * 4);
    EXPECT_TRUE(facts.file_descriptor);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.get()) % NCCL_WIN_REQUIRED_ALIGNMENT, 0U);
  }
  EXPECT_EQ(standin::live_objects(), before);
}

TEST(GpuMemory, CarriesCollectives) {
  run_gpus(2, 2, {}, [](int rank, GpuRank& gpu, ncclComm_t comm) {
    const Allocated memory(kWords * 4);
    const auto words = gpu.words(kWords, static_cast<uint32_t>(rank + 3));
    EXPECT_NCCL(
        ncclAllReduce(words.data(), memory.get(), kWords, ncclUint32, ncclSum, comm, gpu.stream()));
    EXPECT_DONE(cuda::copy(gpu.driver(), words.pointer(), cuda::device_pointer(memory.get()),
                           kWords * 4, gpu.handle()));
    EXPECT_DONE(gpu.wait());
    EXPECT_THAT(gpu.words_in(words), Each(7U));
  });
}

// A peer of this process reads it by its address.
TEST(GpuMemory, IsReachedByThePeersOfItsGpu) {
  const GpuRank owner(0);
  const Allocated memory(kWords * 4);
  const GpuRank peer(1);
  EXPECT_DONE(
      cuda::fill(peer.driver(), cuda::device_pointer(memory.get()), 7, kWords * 4, peer.handle()));
  EXPECT_DONE(peer.wait());
  const auto copy = peer.words(kWords, 0);
  EXPECT_DONE(cuda::copy(peer.driver(), copy.pointer(), cuda::device_pointer(memory.get()),
                         kWords * 4, peer.handle()));
  EXPECT_DONE(peer.wait());
  EXPECT_THAT(peer.words_in(copy), Each(0x07070707U));
}

TEST(GpuMemory, OfACallerOnAHostIsHostMemory) {
  const GpuRank gpu(0);
  {
    const Environment environment(Settings{{"STRAIT_DEVICE", "host"}});
    const Allocated memory(kWords);
    static_cast<char*>(memory.get())[kWords - 1] = 1;
    EXPECT_EQ(must(cuda::pointer_facts(gpu.driver(), memory.get())).kind, cuda::MemoryKind::kHost);
  }
  EXPECT_DONE(standin::program().cuCtxSetCurrent(nullptr));
  const Allocated memory(kWords);
  static_cast<char*>(memory.get())[kWords - 1] = 1;
}

TEST(GpuMemory, IsFreedOnceAndOnlyByItsStart) {
  const GpuRank gpu(0);
  void* memory = nullptr;
  EXPECT_NCCL(ncclMemAlloc(&memory, kWords));
  EXPECT_EQ(ncclMemFree(static_cast<char*>(memory) + 16), ncclInvalidArgument);
  EXPECT_DONE(standin::program().cuCtxSetCurrent(nullptr));  // it knows its GPU
  EXPECT_NCCL(ncclMemFree(memory));
  const Refusal told = refusal([&] { return ncclMemFree(memory); });
  EXPECT_EQ(told.result, ncclInvalidArgument);
  EXPECT_THAT(told.text, HasSubstr("was freed before"));
}

TEST(GpuMemory, ThatIsNotThereIsRefused) {
  const uint64_t before = standin::live_objects();
  {
    const GpuRank gpu(0);
    void* memory = &memory;
    const Refusal told = refusal([&] { return ncclMemAlloc(&memory, size_t{1} << 46); });
    EXPECT_EQ(told.result, ncclUnhandledCudaError);
    EXPECT_THAT(told.text, HasSubstr("free device memory"));
    EXPECT_EQ(memory, nullptr);
  }
  EXPECT_EQ(standin::live_objects(), before);
}

}  // namespace
}  // namespace strait::test
