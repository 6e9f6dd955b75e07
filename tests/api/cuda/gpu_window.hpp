// A window of a rank on a GPU of the stand-in: memory of ncclMemAlloc, registered with the
// communicator as long as it lives. For the rank's thread.
#pragma once

#include <utility>

#include "api/cuda/gpu_rank.hpp"

namespace strait::test {

inline constexpr size_t kOffset = 64;  // bytes, where a test wants one

class GpuWindow {
 public:
  GpuWindow(const GpuRank& gpu, ncclComm_t comm, size_t bytes)
      : comm_(comm), met_(gpu.words(1, 1)) {
    EXPECT_NCCL(ncclMemAlloc(&memory_, bytes));
    EXPECT_DONE(cuda::fill(gpu.driver(), cuda::device_pointer(memory_), 0, bytes, gpu.handle()));
    EXPECT_DONE(gpu.wait());
    EXPECT_NCCL(ncclCommWindowRegister(comm, memory_, bytes, &name_, NCCL_WIN_COLL_SYMMETRIC));
    EXPECT_NE(name_, nullptr);
  }
  ~GpuWindow() { close(); }
  GpuWindow(const GpuWindow&) = delete;
  GpuWindow& operator=(const GpuWindow&) = delete;

  // Before the communicator goes.
  void close() {
    if (memory_ == nullptr) return;
    EXPECT_NCCL(ncclCommWindowDeregister(comm_, name_));
    forget();
  }
  // After it: the window has gone with it.
  void forget() { EXPECT_NCCL(ncclMemFree(std::exchange(memory_, nullptr))); }
  // All ranks reach this point before one goes on.
  void meet(const GpuRank& gpu) const {
    EXPECT_NCCL(
        ncclAllReduce(met_.data(), met_.data(), 1, ncclUint32, ncclSum, comm_, gpu.stream()));
    EXPECT_DONE(gpu.wait());
  }
  ncclWindow_t name() const { return name_; }
  void* memory() const { return memory_; }
  // From the place of that number on. Nothing is freed meanwhile: that would wait for the kernels
  // of other ranks on this GPU, which may wait for this one.
  std::vector<uint32_t> words(size_t first, size_t count) const {
    std::vector<uint32_t> values(count);
    EXPECT_DONE(standin::program().cuMemcpy(cuda::device_pointer(values.data()),
                                            cuda::device_pointer(memory_) + first * 4, count * 4));
    return values;
  }

 private:
  ncclComm_t comm_;
  cuda::DeviceMemory met_;
  void* memory_ = nullptr;
  ncclWindow_t name_ = nullptr;
};

}  // namespace strait::test
