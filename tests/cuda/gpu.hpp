// Gpu: the fixture of these tests. The stand-in's driver, a context of its first device that is
// current, a stream and the test kernels; at the end nothing may be left.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "base/cuda/capture.hpp"
#include "base/cuda/context.hpp"
#include "base/cuda/event.hpp"
#include "base/cuda/launch.hpp"
#include "base/cuda/memory.hpp"
#include "base/cuda/pinned_memory.hpp"
#include "base/cuda/stream.hpp"
#include "standin/program.hpp"

namespace strait::cuda::test {

inline Deadline soon() {
  return Deadline::after_ms(20'000);
}

#define EXPECT_DONE(expression)                                        \
  do {                                                                 \
    const ::strait::Status done_ = (expression);                       \
    EXPECT_TRUE(done_.ok()) << #expression << ": " << done_.message(); \
  } while (false)

// The value, or the end of the program with the sentence that says why there is none.
template <class Value>
Value must(Result<Value> result) {
  return std::move(result.value());
}

class Gpu : public ::testing::Test {
 protected:
  Gpu()
      : live_(standin::live_objects()),
        context_(must(PrimaryContext::retain(driver_, 0))),
        program_(standin::program()) {
    EXPECT_DONE(program_.cuCtxSetCurrent(context_.get()));
    module_ = must(Module::load(driver_, context_.get(), standin::kAnyImage));
    stream_ = must(Stream::create(driver_, context_.get()));
  }
  void TearDown() override {
    standin::fail("");
    stream_ = Stream();
    module_ = Module();
    EXPECT_EQ(standin::live_objects() - live_, 1U) << "the context and nothing else";
    EXPECT_DONE(program_.cuCtxSetCurrent(nullptr));
  }

  Kernel kernel(const std::string& name) const { return must(module_.kernel(name)); }
  DeviceMemory words(size_t count) const {
    return must(DeviceMemory::allocate(driver_, context_.get(), count * 4, "a test"));
  }
  static uint32_t* words_of(const DeviceMemory& memory) {
    return static_cast<uint32_t*>(memory.data());
  }
  std::vector<uint32_t> read(DevicePointer source, size_t count) const {
    std::vector<uint32_t> values(count);
    EXPECT_DONE(program_.cuMemcpy(device_pointer(values.data()), source, count * 4));
    return values;
  }
  Status wait() const { return wait_idle(driver_, stream_.get(), soon()); }

  const Driver& driver_ = *must(driver());
  uint64_t live_;
  PrimaryContext context_;
  const standin::Program& program_;
  Module module_;
  Stream stream_;
};

}  // namespace strait::cuda::test
