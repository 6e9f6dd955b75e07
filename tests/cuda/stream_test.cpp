// Streams and events: order, and that nothing waits that should not.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "cuda/gpu.hpp"

namespace strait::cuda::test {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

class Streams : public Gpu {
 protected:
  Streams() : flags_(must(PinnedMemory::allocate(driver_, context_.get(), 4096, "flags"))) {
    for (size_t i = 0; i < 8; ++i) set(i, 0);
  }
  uint32_t* device_flag(size_t index) const {
    return reinterpret_cast<uint32_t*>(flags_.pointer()) + index;
  }
  std::atomic_ref<uint32_t> flag(size_t index) const {
    return std::atomic_ref(reinterpret_cast<uint32_t*>(flags_.data())[index]);
  }
  void set(size_t index, uint32_t value) const { flag(index).store(value); }

  // A kernel in the stream that runs until flag `index` is 1, and then sets the next one.
  Status hold(StreamHandle stream, size_t index) const {
    const uint32_t* const awaited = device_flag(index);
    return launch_with(kernel("seam_wait"), {}, stream, awaited, uint32_t{1},
                       device_flag(index + 1));
  }
  StreamHandle program_stream(unsigned flags) const {
    StreamHandle stream = nullptr;
    EXPECT_DONE(program_.cuStreamCreate(&stream, flags));
    return stream;
  }

  PinnedMemory flags_;

  void TearDown() override {
    flags_ = PinnedMemory();
    Gpu::TearDown();
  }
};

TEST_F(Streams, RunBesideTheHost) {
  EXPECT_DONE(hold(stream_.get(), 0));
  EXPECT_FALSE(must(is_idle(driver_, stream_.get())));
  EXPECT_EQ(flag(1).load(), 0U);
  set(0, 1);
  EXPECT_DONE(wait());
  EXPECT_EQ(flag(1).load(), 1U);
  EXPECT_TRUE(must(is_idle(driver_, stream_.get())));
}

TEST_F(Streams, KernelsOfTwoWaitForEachOther) {
  const Stream other = must(Stream::create(driver_, context_.get()));
  EXPECT_DONE(hold(stream_.get(), 0));
  EXPECT_DONE(launch_with(kernel("seam_set"), {}, other.get(), device_flag(0), uint32_t{1}));
  EXPECT_DONE(wait());
}

TEST_F(Streams, AWaitHasADeadline) {
  EXPECT_DONE(hold(stream_.get(), 0));
  const Status status = wait_idle(driver_, stream_.get(), Deadline::after_ms(30));
  EXPECT_EQ(status.code(), Code::kTimeout);
  EXPECT_THAT(status.message(), HasSubstr("a stream of the GPU is not done after"));
  set(0, 1);
  EXPECT_DONE(wait());
}

TEST_F(Streams, EventsOrderThem) {
  const Stream other = must(Stream::create(driver_, context_.get()));
  const Event event = must(Event::create(driver_, context_.get()));
  EXPECT_TRUE(must(event.is_past()));
  EXPECT_DONE(hold(stream_.get(), 0));
  EXPECT_DONE(event.record(stream_.get()));
  EXPECT_DONE(event.hold_back(other.get()));
  EXPECT_DONE(launch_with(kernel("seam_set"), {}, other.get(), device_flag(3), uint32_t{1}));
  EXPECT_FALSE(must(event.is_past()));
  EXPECT_EQ(event.wait_past(Deadline::after_ms(20)).code(), Code::kTimeout);
  EXPECT_EQ(flag(3).load(), 0U);
  set(0, 1);
  EXPECT_DONE(event.wait_past(soon()));
  EXPECT_DONE(wait_idle(driver_, other.get(), soon()));
  EXPECT_EQ(flag(3).load(), 1U);
}

TEST_F(Streams, EventsOrderDevices) {
  const PrimaryContext context = must(PrimaryContext::retain(driver_, 1));
  const Stream other = must(Stream::create(driver_, context.get()));
  const Event event = must(Event::create(driver_, context_.get()));
  EXPECT_DONE(hold(stream_.get(), 0));
  EXPECT_DONE(event.record(stream_.get()));
  EXPECT_FALSE(event.record(other.get()).ok()) << "an event is recorded in its own context";
  EXPECT_DONE(event.hold_back(other.get()));
  EXPECT_FALSE(must(is_idle(driver_, other.get())));
  set(0, 1);
  EXPECT_DONE(wait_idle(driver_, other.get(), soon()));
}

TEST_F(Streams, EventsMeasure) {
  const Event from = must(Event::create(driver_, context_.get(), Event::Use::kTime));
  const Event to = must(Event::create(driver_, context_.get(), Event::Use::kTime));
  EXPECT_DONE(from.record(stream_.get()));
  EXPECT_DONE(hold(stream_.get(), 0));
  EXPECT_DONE(to.record(stream_.get()));
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  set(0, 1);
  EXPECT_DONE(to.wait_past(soon()));
  EXPECT_GT(must(from.ns_to(to)), 4e6);
  EXPECT_LT(must(from.ns_to(to)), 10e9);
}

TEST_F(Streams, TheLegacyStreamWaitsForBlockingOnesAndTheyForIt) {
  const StreamHandle blocking = program_stream(0);
  const StreamHandle independent = program_stream(kStreamNonBlocking);
  EXPECT_DONE(hold(blocking, 0));
  EXPECT_DONE(launch_with(kernel("seam_set"), {}, nullptr, device_flag(3), uint32_t{1}));
  EXPECT_DONE(launch_with(kernel("seam_set"), {}, independent, device_flag(4), uint32_t{1}));
  EXPECT_DONE(wait_idle(driver_, independent, soon()));
  EXPECT_EQ(flag(3).load(), 0U) << "the NULL stream must not overtake a blocking one";
  set(0, 1);
  EXPECT_DONE(wait_idle(driver_, nullptr, soon()));
  EXPECT_EQ(flag(3).load(), 1U);
  set(0, 0);
  EXPECT_DONE(hold(legacy_stream(), 0));
  EXPECT_DONE(launch_with(kernel("seam_set"), {}, blocking, device_flag(5), uint32_t{1}));
  EXPECT_EQ(wait_idle(driver_, blocking, Deadline::after_ms(20)).code(), Code::kTimeout);
  EXPECT_EQ(flag(5).load(), 0U);
  set(0, 1);
  EXPECT_DONE(wait_idle(driver_, blocking, soon()));
  EXPECT_DONE(driver_.cuStreamDestroy(blocking));
  EXPECT_DONE(driver_.cuStreamDestroy(independent));
}

TEST_F(Streams, EachThreadHasAStreamOfItsOwn) {
  EXPECT_DONE(hold(per_thread_stream(), 0));
  std::thread([this] {
    EXPECT_DONE(program_.cuCtxSetCurrent(context_.get()));
    EXPECT_DONE(
        launch_with(kernel("seam_set"), {}, per_thread_stream(), device_flag(0), uint32_t{1}));
    EXPECT_DONE(wait_idle(driver_, per_thread_stream(), soon()));
  }).join();
  EXPECT_DONE(wait_idle(driver_, per_thread_stream(), soon()));
  EXPECT_EQ(flag(1).load(), 1U);
}

TEST_F(Streams, HaveNumbersOfTheirOwn) {
  const Stream other = must(Stream::create(driver_, context_.get()));
  EXPECT_NE(must(id_of(driver_, stream_.get())), must(id_of(driver_, other.get())));
  EXPECT_EQ(must(id_of(driver_, nullptr)), must(id_of(driver_, legacy_stream())));
}

TEST_F(Streams, CallTheHostInOrderWhereTheDriverIsForbidden) {
  struct Seen {
    const Driver* driver;
    uint32_t* flag;
    uint32_t flag_value = 7;
    int code = 0;
  } seen{&driver_, reinterpret_cast<uint32_t*>(flags_.data()) + 1};
  EXPECT_DONE(hold(stream_.get(), 0));
  EXPECT_DONE(call_on_host(
      driver_, stream_.get(),
      [](void* argument) {
        auto& mine = *static_cast<Seen*>(argument);
        mine.flag_value = std::atomic_ref(*mine.flag).load();
        size_t free_bytes = 0, bytes = 0;
        mine.code = mine.driver->cuMemGetInfo.code(&free_bytes, &bytes);
      },
      &seen));
  set(0, 1);
  EXPECT_DONE(wait());
  EXPECT_EQ(seen.flag_value, 1U);
  EXPECT_EQ(seen.code, kNotPermitted);
}

TEST_F(Streams, StoreAndAwaitValues) {
  const Stream other = must(Stream::create(driver_, context_.get()));
  const DevicePointer first = flags_.pointer();
  EXPECT_DONE(wait_value(driver_, stream_.get(), first, uint32_t{3}));
  EXPECT_DONE(write_value(driver_, stream_.get(), first + 8, uint64_t{1} << 40));
  EXPECT_DONE(write_value(driver_, other.get(), first, uint32_t{2}));
  EXPECT_DONE(wait_idle(driver_, other.get(), soon()));
  EXPECT_FALSE(must(is_idle(driver_, stream_.get())));
  EXPECT_DONE(write_value(driver_, other.get(), first, uint32_t{4}));
  EXPECT_DONE(wait_value(driver_, other.get(), first + 8, uint64_t{1} << 40));
  EXPECT_DONE(wait_idle(driver_, other.get(), soon()));
  EXPECT_DONE(wait());
}

TEST_F(Streams, TakePageableMemoryBeforeTheyReturn) {
  const DeviceMemory memory = words(100);
  std::vector<uint32_t> mine(100, 1);
  EXPECT_DONE(hold(stream_.get(), 0));
  EXPECT_DONE(
      copy(driver_, memory.pointer(), device_pointer(mine.data()), memory.bytes(), stream_.get()));
  std::fill(mine.begin(), mine.end(), 2);
  set(0, 1);
  EXPECT_DONE(wait());
  EXPECT_THAT(read(memory.pointer(), 100), Each(1U));
}

TEST_F(Streams, AreDestroyedWithWorkInThem) {
  {
    const Stream other = must(Stream::create(driver_, context_.get()));
    EXPECT_DONE(hold(other.get(), 0));
  }
  EXPECT_EQ(flag(1).load(), 0U);
  set(0, 1);
  EXPECT_DONE(program_.cuCtxSynchronize());
  EXPECT_EQ(flag(1).load(), 1U);
}

TEST_F(Streams, FreeingMemoryWaitsForTheDevice) {
  DeviceMemory memory = words(100);
  EXPECT_DONE(hold(stream_.get(), 0));
  std::thread later([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    set(0, 1);
  });
  memory = DeviceMemory();
  EXPECT_EQ(flag(1).load(), 1U);
  later.join();
}

TEST_F(Streams, AForgottenHandleIsToldAndNothingCrashes) {
  const StreamHandle gone = program_stream(0);
  EXPECT_DONE(driver_.cuStreamDestroy(gone));
  EXPECT_THAT(hold(gone, 0).message(), HasSubstr("CUDA_ERROR_INVALID_HANDLE"));
}

}  // namespace
}  // namespace strait::cuda::test
