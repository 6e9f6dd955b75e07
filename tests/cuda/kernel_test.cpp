// Modules, kernels and launches.
#include <gmock/gmock.h>

#include "cuda/gpu.hpp"

namespace strait::cuda::test {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

class Kernels : public Gpu {};

TEST_F(Kernels, RunOverTheWholeGrid) {
  const DeviceMemory memory = words(1000);
  EXPECT_DONE(launch_with(kernel("seam_fill"), {.blocks = 3, .threads = 64}, stream_.get(),
                          words_of(memory), uint32_t{5}, uint32_t{1000}));
  EXPECT_DONE(wait());
  EXPECT_THAT(read(memory.pointer(), 1000), Each(5U));
}

TEST_F(Kernels, TakeArgumentsAsTheyWereAtTheCall) {
  struct Mix {
    uint64_t a;
    uint8_t b;
  };
  const DeviceMemory memory = words(2);
  uint64_t* target = static_cast<uint64_t*>(memory.data());
  Mix mix{1'000'000, 7};
  uint16_t c = 300;
  double d = 2.5;
  void* arguments[] = {&target, &mix, &c, &d};
  EXPECT_DONE(launch(kernel("seam_mix"), {}, stream_.get(), arguments));
  mix = {};
  c = 0;
  d = 0;
  target = nullptr;
  EXPECT_DONE(wait());
  EXPECT_EQ(read(memory.pointer(), 1)[0], 1'000'309U);
}

TEST_F(Kernels, AreFoundByName) {
  const Result<Kernel> none = module_.kernel("no_such_kernel");
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.status().message(),
              HasSubstr("kernel no_such_kernel: cuModuleGetFunction: CUDA_ERROR_NOT_FOUND"));
}

TEST_F(Kernels, WhatIsNoImageIsRefused) {
  const Result<Module> none = Module::load(driver_, context_.get(), "some text");
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.status().message(), HasSubstr("CUDA_ERROR_INVALID_IMAGE"));
}

TEST_F(Kernels, SayWhatTheyNeed) {
  const Kernel fill = kernel("seam_fill");
  EXPECT_EQ(must(fill.facts()).threads_max, 1024);
  EXPECT_EQ(must(fill.blocks_per_multiprocessor(512, 0)), 4);
  EXPECT_EQ(must(fill.blocks_per_multiprocessor(512, 100 << 10)), 2);
}

TEST_F(Kernels, MuchSharedMemoryMustBeAllowedFirst) {
  const DeviceMemory memory = words(1);
  const Kernel fill = kernel("seam_fill");
  const LaunchShape shape{.shared_bytes = 100 << 10};
  EXPECT_FALSE(
      launch_with(fill, shape, stream_.get(), words_of(memory), uint32_t{5}, uint32_t{1}).ok());
  EXPECT_DONE(fill.allow_shared_bytes(100 << 10));
  EXPECT_DONE(launch_with(fill, shape, stream_.get(), words_of(memory), uint32_t{5}, uint32_t{1}));
  EXPECT_DONE(wait());
  EXPECT_FALSE(fill.allow_shared_bytes(1 << 20).ok());
}

TEST_F(Kernels, ACooperativeLaunchHasRoomForAllOrFails) {
  const DeviceMemory memory = words(1);
  const Kernel fill = kernel("seam_fill");
  EXPECT_DONE(launch_with(fill, {.blocks = 8, .threads = 32, .cooperative = true}, stream_.get(),
                          words_of(memory), uint32_t{5}, uint32_t{1}));
  const Status status = launch_with(fill, {.blocks = 100'000, .threads = 1024, .cooperative = true},
                                    stream_.get(), words_of(memory), uint32_t{5}, uint32_t{1});
  EXPECT_THAT(status.message(), HasSubstr("kernel seam_fill: cuLaunchKernelEx: "
                                          "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"));
  EXPECT_DONE(wait());
}

TEST_F(Kernels, AStreamOfAnotherContextIsRefused) {
  const PrimaryContext other = must(PrimaryContext::retain(driver_, 1));
  const Stream theirs = must(Stream::create(driver_, other.get()));
  EXPECT_EQ(must(context_of(driver_, theirs.get())), other.get());
  const DeviceMemory memory = words(1);
  const Status status = launch_with(kernel("seam_fill"), {}, theirs.get(), words_of(memory),
                                    uint32_t{5}, uint32_t{1});
  EXPECT_THAT(status.message(), HasSubstr("CUDA_ERROR_INVALID_HANDLE"));
}

// Each of these breaks its context, so it has one of its own.
class BrokenContext : public Gpu {
 protected:
  BrokenContext() {
    EXPECT_DONE(program_.cuCtxCreate(&broken_, 0, 0));
    their_module_ = must(Module::load(driver_, broken_, standin::kAnyImage));
    their_stream_ = must(Stream::create(driver_, broken_));
  }
  void TearDown() override {
    their_stream_ = Stream();
    their_module_ = Module();
    EXPECT_DONE(program_.cuCtxDestroy(broken_));
    Gpu::TearDown();
  }
  Status broken_wait() const { return wait_idle(driver_, their_stream_.get(), soon()); }

  ContextHandle broken_ = nullptr;
  Module their_module_;
  Stream their_stream_;
};

TEST_F(BrokenContext, AKernelThatTrapsBreaksItForGood) {
  const Kernel trap = must(their_module_.kernel("seam_trap"));
  EXPECT_DONE(launch(trap, {}, their_stream_.get(), nullptr));
  const Status status = broken_wait();
  EXPECT_EQ(status.code(), Code::kCudaError);
  EXPECT_THAT(status.message(), HasSubstr("CUDA_ERROR_LAUNCH_FAILED; a kernel broke the context"));
  EXPECT_THAT(standin::last_kernel_failure(), HasSubstr("seam_trap"));
  EXPECT_FALSE(launch(trap, {}, their_stream_.get(), nullptr).ok());
  EXPECT_FALSE(DeviceMemory::allocate(driver_, broken_, 100, "a test").ok());
  EXPECT_DONE(wait());  // the other context is as good as ever
}

TEST_F(BrokenContext, AnIllegalAddressIsSeenWhenTheKernelRan) {
  standin::fail("kernel:2=700");
  const Kernel fill = must(their_module_.kernel("seam_fill"));
  const DeviceMemory memory = must(DeviceMemory::allocate(driver_, broken_, 4, "a test"));
  for (int i = 0; i < 2; ++i)
    EXPECT_DONE(launch_with(fill, {}, their_stream_.get(), static_cast<uint32_t*>(memory.data()),
                            uint32_t{5}, uint32_t{1}));
  EXPECT_THAT(broken_wait().message(), HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS"));
}

TEST_F(BrokenContext, WorkBehindTheFailureDoesNotRunAndNobodyWaitsForIt) {
  standin::fail("kernel:1=700");
  const Kernel fill = must(their_module_.kernel("seam_fill"));
  const DeviceMemory memory = must(DeviceMemory::allocate(driver_, broken_, 4, "a test"));
  const Event passed = must(Event::create(driver_, broken_));
  bool called = false;
  EXPECT_DONE(launch_with(fill, {}, their_stream_.get(), static_cast<uint32_t*>(memory.data()),
                          uint32_t{5}, uint32_t{1}));
  // Either call may already find the context broken.
  const Status first = call_on_host(
      driver_, their_stream_.get(), [](void* flag) { *static_cast<bool*>(flag) = true; }, &called);
  const Status second = passed.record(their_stream_.get());
  EXPECT_FALSE(broken_wait().ok());
  EXPECT_FALSE(called);
  EXPECT_TRUE(first.ok() || first.code() == Code::kCudaError);
  EXPECT_TRUE(second.ok() || second.code() == Code::kCudaError);
}

}  // namespace
}  // namespace strait::cuda::test
