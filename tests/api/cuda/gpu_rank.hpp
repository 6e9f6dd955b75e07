// A rank on a GPU of the stand-in, as a CUDA program would be one: its context is current in the
// thread, its buffers are device memory, its stream its own.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "api/world.hpp"
#include "base/cuda/context.hpp"
#include "base/cuda/event.hpp"
#include "base/cuda/launch.hpp"
#include "base/cuda/memory.hpp"
#include "base/cuda/pinned_memory.hpp"
#include "base/cuda/stream.hpp"
#include "nccl.h"
#include "standin/program.hpp"

namespace strait::test {

// The value, or the end of the program with the sentence that says why there is none.
template <class Value>
Value must(Result<Value> result) {
  return std::move(result.value());
}

#define EXPECT_DONE(expression)                                        \
  do {                                                                 \
    const ::strait::Status done_ = (expression);                       \
    EXPECT_TRUE(done_.ok()) << #expression << ": " << done_.message(); \
  } while (false)

#define EXPECT_NCCL(expression) \
  EXPECT_EQ((expression), ncclSuccess) << #expression << ": " << ncclGetLastError(nullptr)

// What the calling rank was just told. The library keeps one text for the process, and the ranks of
// a test are threads: a call that may fail and its text are taken together.
struct Refusal {
  ncclResult_t result;
  std::string text;
};
inline Refusal refusal(const std::function<ncclResult_t()>& call) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  const ncclResult_t result = call();
  return {result, ncclGetLastError(nullptr)};
}

inline cudaStream_t as_nccl(cuda::StreamHandle stream) {
  return reinterpret_cast<cudaStream_t>(stream);
}

class GpuRank {
 public:
  // The thread's context is the device's as long as it lives.
  explicit GpuRank(int device)
      : driver_(*cuda::driver().value()),
        context_(must(cuda::PrimaryContext::retain(driver_, device))) {
    EXPECT_DONE(standin::program().cuCtxSetCurrent(context_.get()));
    module_ = must(cuda::Module::load(driver_, context_.get(), standin::kAnyImage));
    stream_ = new_stream();
  }
  ~GpuRank() {
    stream_ = cuda::Stream();
    module_ = cuda::Module();
    EXPECT_DONE(standin::program().cuCtxSetCurrent(nullptr));
  }

  cudaStream_t stream() const { return as_nccl(stream_.get()); }
  cuda::StreamHandle handle() const { return stream_.get(); }
  cuda::Stream new_stream() const { return must(cuda::Stream::create(driver_, context_.get())); }
  cuda::Event new_event() const { return must(cuda::Event::create(driver_, context_.get())); }
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
  Status wait() const { return wait(stream_.get()); }
  Status wait(cuda::StreamHandle stream) const {
    return cuda::wait_idle(driver_, stream, Deadline::after_ms(30'000));
  }

  // ---- Words, by kernels of the program in a stream's order.
  cuda::DeviceMemory words(size_t count, uint32_t value) const {
    cuda::DeviceMemory made = memory(count * 4);
    fill(made, value, stream_.get());
    EXPECT_DONE(wait());
    return made;
  }
  void fill(const cuda::DeviceMemory& words, uint32_t value, cuda::StreamHandle stream) const {
    launch_on_words("seam_fill", words, value, stream);
  }
  void add(const cuda::DeviceMemory& words, uint32_t value, cuda::StreamHandle stream) const {
    launch_on_words("seam_add", words, value, stream);
  }
  // The stream waits until the flag has the value, which set() of another stream brings.
  void wait_for_flag(const cuda::DeviceMemory& flag, uint32_t value,
                     cuda::StreamHandle stream) const {
    auto* const words = static_cast<uint32_t*>(flag.data());
    EXPECT_DONE(cuda::launch_with(kernel("seam_wait"), {}, stream,
                                  static_cast<const uint32_t*>(words), value, words + 1));
  }
  void set_flag(const cuda::DeviceMemory& flag, uint32_t value, cuda::StreamHandle stream) const {
    EXPECT_DONE(cuda::launch_with(kernel("seam_set"), {}, stream,
                                  static_cast<uint32_t*>(flag.data()), value));
  }
  void trap(cuda::StreamHandle stream) const {
    EXPECT_DONE(cuda::launch_with(kernel("seam_trap"), {}, stream));
  }
  std::vector<uint32_t> words_in(const cuda::DeviceMemory& memory) const {
    std::vector<uint32_t> values(memory.bytes() / 4);
    copy(cuda::device_pointer(values.data()), memory.pointer(), values.size() * 4);
    return values;
  }

 private:
  cuda::Kernel kernel(const std::string& name) const { return must(module_.kernel(name)); }
  void launch_on_words(const std::string& name, const cuda::DeviceMemory& words, uint32_t value,
                       cuda::StreamHandle stream) const {
    EXPECT_DONE(cuda::launch_with(kernel(name), {.blocks = 2, .threads = 32}, stream,
                                  static_cast<uint32_t*>(words.data()), value,
                                  static_cast<uint32_t>(words.bytes() / 4)));
  }
  void copy(cuda::DevicePointer target, cuda::DevicePointer source, size_t bytes) const {
    if (bytes == 0) return;
    EXPECT_DONE(standin::program().cuMemcpy(target, source, bytes));
  }

  const cuda::Driver& driver_;
  cuda::PrimaryContext context_;
  cuda::Module module_;
  cuda::Stream stream_;
};

// Ranks as threads, rank i on GPU i modulo `devices`. The body keeps the communicator.
inline void meet_on_gpus(int rank_count, int devices, const Settings& settings,
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
  });
}

// The same, and the communicators are destroyed when the body returns.
inline void run_gpus(int rank_count, int devices, const Settings& settings,
                     const std::function<void(int, GpuRank&, ncclComm_t)>& body) {
  meet_on_gpus(rank_count, devices, settings, [&](int rank, GpuRank& gpu, ncclComm_t comm) {
    body(rank, gpu, comm);
    EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess) << ncclGetLastError(nullptr);
  });
}

// Objects of the driver that are there still: those of stopped kernels and of graphs go a moment
// later, with the next communicator.
inline uint64_t objects_left(uint64_t before) {
  for (int look = 0; look < 20 && standin::live_objects() > before; ++look) {
    ncclComm_t comm = nullptr;
    const int device = 0;
    const Environment environment(Settings{{"STRAIT_DEVICE", "gpu"}});
    EXPECT_NCCL(ncclCommInitAll(&comm, 1, &device));
    EXPECT_NCCL(ncclCommDestroy(comm));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return standin::live_objects();
}

}  // namespace strait::test
