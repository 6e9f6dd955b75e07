// A rank on a GPU of the stand-in, as a CUDA program would be one: its context is current in the
// thread, its buffers are device memory, its stream its own.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "api/world.hpp"
#include "base/cuda/context.hpp"
#include "base/cuda/memory.hpp"
#include "base/cuda/stream.hpp"
#include "nccl.h"
#include "standin/program.hpp"

namespace strait::test {

// The value, or the end of the program with the sentence that says why there is none.
template <class Value>
Value must(Result<Value> result) {
  return std::move(result.value());
}

class GpuRank {
 public:
  // The thread's context is the device's as long as it lives.
  explicit GpuRank(int device)
      : driver_(*cuda::driver().value()),
        context_(must(cuda::PrimaryContext::retain(driver_, device))) {
    EXPECT_TRUE(standin::program().cuCtxSetCurrent(context_.get()).ok());
    stream_ = must(cuda::Stream::create(driver_, context_.get()));
  }
  ~GpuRank() {
    stream_ = cuda::Stream();
    EXPECT_TRUE(standin::program().cuCtxSetCurrent(nullptr).ok());
  }

  cudaStream_t stream() const { return reinterpret_cast<cudaStream_t>(stream_.get()); }
  const cuda::Driver& driver() const { return driver_; }
  cuda::ContextHandle context() const { return context_.get(); }

  cuda::DeviceMemory memory(size_t bytes) const {
    return must(cuda::DeviceMemory::allocate(driver_, context_.get(), std::max<size_t>(bytes, 1),
                                             "a test"));
  }
  cuda::DeviceMemory memory(const std::vector<std::byte>& bytes) const {
    cuda::DeviceMemory made = memory(bytes.size());
    copy(made.pointer(), cuda::device_pointer(bytes.data()), bytes.size());
    return made;
  }
  std::vector<std::byte> read(const cuda::DeviceMemory& memory, size_t bytes) const {
    std::vector<std::byte> values(bytes);
    copy(cuda::device_pointer(values.data()), memory.pointer(), bytes);
    return values;
  }
  Status wait() const {
    return cuda::wait_idle(driver_, stream_.get(), Deadline::after_ms(30'000));
  }

 private:
  void copy(cuda::DevicePointer target, cuda::DevicePointer source, size_t bytes) const {
    if (bytes == 0) return;
    EXPECT_TRUE(standin::program().cuMemcpy(target, source, bytes).ok());
  }

  const cuda::Driver& driver_;
  cuda::PrimaryContext context_;
  cuda::Stream stream_;
};

// Ranks as threads, rank i on GPU i modulo `devices`.
inline void run_gpus(int rank_count, int devices, const Settings& settings,
                     const std::function<void(int, GpuRank&, ncclComm_t)>& body) {
  const Environment environment(settings);
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess) << ncclGetLastError(nullptr);
  on_threads(rank_count, [&](int rank) {
    GpuRank gpu(rank % devices);
    ncclComm_t comm = nullptr;
    ASSERT_EQ(ncclCommInitRank(&comm, rank_count, id, rank), ncclSuccess)
        << ncclGetLastError(nullptr);
    body(rank, gpu, comm);
    EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess) << ncclGetLastError(nullptr);
  });
}

}  // namespace strait::test
