// Capture into graphs and their replay, and what breaks a capture.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "cuda/gpu.hpp"

namespace strait::cuda::test {
namespace {

using standin::GraphExecHandle;
using ::testing::Each;
using ::testing::HasSubstr;

class Graphs : public Gpu {
 protected:
  void begin(CaptureMode mode = kCaptureGlobal) const {
    EXPECT_DONE(program_.cuStreamBeginCapture(stream_.get(), mode));
  }
  int end(GraphHandle& graph) const {
    return program_.cuStreamEndCapture.code(stream_.get(), &graph);
  }
  GraphExecHandle end_and_make() const {
    GraphHandle graph = nullptr;
    EXPECT_EQ(end(graph), kSuccess);
    GraphExecHandle exec = nullptr;
    EXPECT_DONE(program_.cuGraphInstantiateWithFlags(&exec, graph, 0));
    EXPECT_DONE(program_.cuGraphDestroy(graph));
    return exec;
  }
  void replay(GraphExecHandle exec, int times) const {
    for (int i = 0; i < times; ++i) EXPECT_DONE(program_.cuGraphLaunch(exec, stream_.get()));
    EXPECT_DONE(wait());
  }
  Status add(const DeviceMemory& memory, StreamHandle stream, uint32_t value) const {
    return launch_with(kernel("seam_add"), {.blocks = 2, .threads = 32}, stream, words_of(memory),
                       value, uint32_t{100});
  }
};

TEST_F(Graphs, RecordAndRunManyTimes) {
  const DeviceMemory memory = words(100);
  EXPECT_DONE(fill(driver_, memory.pointer(), 0, 400, stream_.get()));
  EXPECT_DONE(wait());
  begin();
  EXPECT_DONE(add(memory, stream_.get(), 2));
  EXPECT_DONE(add(memory, stream_.get(), 1));
  const GraphExecHandle exec = end_and_make();
  EXPECT_THAT(read(memory.pointer(), 100), Each(0U)) << "capturing runs nothing";
  replay(exec, 5);
  EXPECT_THAT(read(memory.pointer(), 100), Each(15U));
  EXPECT_DONE(add(memory, stream_.get(), 1));  // mixed with plain calls
  replay(exec, 1);
  EXPECT_THAT(read(memory.pointer(), 100), Each(19U));
  EXPECT_DONE(program_.cuGraphExecDestroy(exec));
}

TEST_F(Graphs, HoldCopiesFillsAndHostCalls) {
  const DeviceMemory first = words(100);
  const DeviceMemory second = words(100);
  std::atomic<int> calls = 0;
  begin();
  EXPECT_DONE(fill(driver_, first.pointer(), 0x66, 400, stream_.get()));
  EXPECT_DONE(copy(driver_, second.pointer(), first.pointer(), 400, stream_.get()));
  EXPECT_DONE(call_on_host(
      driver_, stream_.get(), [](void* count) { ++*static_cast<std::atomic<int>*>(count); },
      &calls));
  const GraphExecHandle exec = end_and_make();
  replay(exec, 3);
  EXPECT_EQ(calls, 3);
  EXPECT_THAT(read(second.pointer(), 100), Each(0x66666666U));
  EXPECT_DONE(program_.cuGraphExecDestroy(exec));
}

TEST_F(Graphs, SpanStreamsByEventsAndRunTheirBranchesTogether) {
  const Stream other = must(Stream::create(driver_, context_.get()));
  const Event forked = must(Event::create(driver_, context_.get()));
  const Event joined = must(Event::create(driver_, context_.get()));
  const DeviceMemory memory = words(4);
  uint32_t* const flags = words_of(memory);
  const auto branch = [&](StreamHandle stream, uint32_t* mine, const uint32_t* theirs) {
    EXPECT_DONE(launch_with(kernel("seam_set"), {}, stream, mine, uint32_t{1}));
    EXPECT_DONE(launch_with(kernel("seam_wait"), {}, stream, theirs, uint32_t{1}, mine + 2));
  };
  begin();
  EXPECT_DONE(fill(driver_, memory.pointer(), 0, 16, stream_.get()));
  EXPECT_DONE(forked.record(stream_.get()));
  EXPECT_DONE(forked.hold_back(other.get()));
  EXPECT_TRUE(must(capture_of(driver_, other.get())).active);
  branch(stream_.get(), flags, flags + 1);
  branch(other.get(), flags + 1, flags);
  EXPECT_DONE(joined.record(other.get()));
  EXPECT_DONE(joined.hold_back(stream_.get()));
  const GraphExecHandle exec = end_and_make();
  replay(exec, 3);
  EXPECT_THAT(read(memory.pointer(), 4), Each(1U));
  EXPECT_DONE(program_.cuGraphExecDestroy(exec));
}

TEST_F(Graphs, WaitAtEachReplayForWhatIsOutsideAndAreWaitedFor) {
  const Stream other = must(Stream::create(driver_, context_.get()));
  const Event order = must(Event::create(driver_, context_.get()));
  const DeviceMemory flags = words(2);
  const DeviceMemory memory = words(100);
  EXPECT_DONE(fill(driver_, flags.pointer(), 0, 8, stream_.get()));
  EXPECT_DONE(fill(driver_, memory.pointer(), 0, 400, stream_.get()));
  EXPECT_DONE(wait());
  begin();
  EXPECT_DONE(order.hold_back_inside(stream_.get()));
  EXPECT_DONE(add(memory, stream_.get(), 1));
  EXPECT_DONE(order.record_outside(stream_.get()));
  const GraphExecHandle exec = end_and_make();
  for (uint32_t turn = 1; turn <= 3; ++turn) {
    EXPECT_DONE(launch_with(kernel("seam_wait"), {}, other.get(),
                            static_cast<const uint32_t*>(words_of(flags)), turn,
                            words_of(flags) + 1));
    EXPECT_DONE(order.record(other.get()));
    EXPECT_DONE(program_.cuGraphLaunch(exec, stream_.get()));
    EXPECT_FALSE(must(order.is_past()));
    EXPECT_DONE(order.hold_back(other.get()));
    EXPECT_FALSE(must(is_idle(driver_, stream_.get()))) << "it did not wait";
    const Stream key = must(Stream::create(driver_, context_.get()));
    EXPECT_DONE(launch_with(kernel("seam_set"), {}, key.get(), words_of(flags), turn));
    EXPECT_DONE(wait_idle(driver_, other.get(), soon()));
    EXPECT_TRUE(must(order.is_past()));
    EXPECT_THAT(read(memory.pointer(), 100), Each(turn));
  }
  EXPECT_DONE(program_.cuGraphExecDestroy(exec));
}

TEST_F(Graphs, AreSeenWhileTheyAreCaptured) {
  EXPECT_FALSE(must(capture_of(driver_, stream_.get())).active);
  begin();
  const Capture capture = must(capture_of(driver_, stream_.get()));
  EXPECT_TRUE(capture.active);
  EXPECT_NE(capture.graph, nullptr);
  GraphHandle graph = nullptr;
  EXPECT_EQ(end(graph), kSuccess);
  EXPECT_EQ(graph, capture.graph);
  EXPECT_DONE(program_.cuGraphDestroy(graph));
  begin();
  EXPECT_NE(must(capture_of(driver_, stream_.get())).id, capture.id);
  EXPECT_EQ(end(graph), kSuccess);
  EXPECT_DONE(program_.cuGraphDestroy(graph));
}

TEST_F(Graphs, OurOwnAllocationsDoNotDisturbACapture) {
  begin();
  {
    const DeviceMemory memory = words(100);
    const PinnedMemory pinned =
        must(PinnedMemory::allocate(driver_, context_.get(), 400, "a test"));
    const Module module = must(Module::load(driver_, context_.get(), standin::kAnyImage));
  }
  GraphHandle graph = nullptr;
  EXPECT_EQ(end(graph), kSuccess);
  EXPECT_DONE(program_.cuGraphDestroy(graph));
}

TEST_F(Graphs, AnAllocationOfTheProgramBreaksItsCapture) {
  begin();
  DevicePointer memory = 0;
  EXPECT_EQ(driver_.cuMemAlloc.code(&memory, 100), kStreamCaptureUnsupported);
  const Result<Capture> capture = capture_of(driver_, stream_.get());
  ASSERT_FALSE(capture.ok());
  EXPECT_THAT(capture.status().message(), HasSubstr("an earlier call broke the capture"));
  GraphHandle graph = nullptr;
  EXPECT_EQ(end(graph), kStreamCaptureInvalidated);
  EXPECT_EQ(graph, nullptr);
}

TEST_F(Graphs, AnotherThreadBreaksOnlyAGlobalCapture) {
  const auto allocate_elsewhere = [this] {
    std::thread([this] {
      EXPECT_DONE(program_.cuCtxSetCurrent(context_.get()));
      DevicePointer memory = 0;
      if (driver_.cuMemAlloc.code(&memory, 100) == kSuccess) EXPECT_DONE(driver_.cuMemFree(memory));
    }).join();
  };
  GraphHandle graph = nullptr;
  begin(kCaptureGlobal);
  allocate_elsewhere();
  EXPECT_EQ(end(graph), kStreamCaptureInvalidated);
  begin(kCaptureThreadLocal);
  allocate_elsewhere();
  EXPECT_EQ(end(graph), kSuccess);
  EXPECT_DONE(program_.cuGraphDestroy(graph));
}

TEST_F(Graphs, WaitingForACapturedStreamBreaksIt) {
  begin();
  EXPECT_EQ(program_.cuStreamSynchronize.code(stream_.get()), kStreamCaptureUnsupported);
  GraphHandle graph = nullptr;
  EXPECT_EQ(end(graph), kStreamCaptureInvalidated);
  EXPECT_DONE(wait());
}

TEST_F(Graphs, AStreamThatIsNotJoinedIsToldAtTheEnd) {
  const Stream other = must(Stream::create(driver_, context_.get()));
  const Event forked = must(Event::create(driver_, context_.get()));
  const DeviceMemory memory = words(100);
  begin();
  EXPECT_DONE(forked.record(stream_.get()));
  EXPECT_DONE(forked.hold_back(other.get()));
  EXPECT_DONE(add(memory, other.get(), 1));
  GraphHandle graph = nullptr;
  EXPECT_EQ(program_.cuStreamEndCapture.code(other.get(), &graph), kStreamCaptureUnmatched);
  EXPECT_EQ(end(graph), kStreamCaptureInvalidated);
  begin();
  EXPECT_DONE(forked.record(stream_.get()));
  EXPECT_DONE(forked.hold_back(other.get()));
  EXPECT_DONE(add(memory, other.get(), 1));
  EXPECT_EQ(end(graph), kStreamCaptureUnjoined);
}

TEST_F(Graphs, TheLegacyStreamBreaksACaptureOfABlockingOne) {
  StreamHandle blocking = nullptr;
  EXPECT_DONE(program_.cuStreamCreate(&blocking, 0));
  const DeviceMemory memory = words(100);
  EXPECT_DONE(program_.cuStreamBeginCapture(blocking, kCaptureRelaxed));
  EXPECT_FALSE(capture_of(driver_, nullptr).ok());
  EXPECT_TRUE(must(capture_of(driver_, blocking)).active) << "asking breaks nothing";
  EXPECT_THAT(add(memory, nullptr, 1).message(), HasSubstr("CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"));
  GraphHandle graph = nullptr;
  EXPECT_EQ(program_.cuStreamEndCapture.code(blocking, &graph), kStreamCaptureInvalidated);
  EXPECT_DONE(driver_.cuStreamDestroy(blocking));
}

TEST_F(Graphs, AnEventFromOutsideIsNotWaitedForInside) {
  const Stream other = must(Stream::create(driver_, context_.get()));
  const Event outside = must(Event::create(driver_, context_.get()));
  EXPECT_DONE(outside.record(other.get()));
  begin();
  EXPECT_THAT(outside.hold_back(stream_.get()).message(),
              HasSubstr("CUDA_ERROR_STREAM_CAPTURE_ISOLATION"));
  GraphHandle graph = nullptr;
  EXPECT_EQ(end(graph), kStreamCaptureInvalidated);
}

TEST_F(Graphs, ACapturedEventHasNoStateToAskFor) {
  const Event event = must(Event::create(driver_, context_.get()));
  begin(kCaptureRelaxed);
  EXPECT_DONE(event.record(stream_.get()));
  EXPECT_THAT(event.is_past().status().message(), HasSubstr("CUDA_ERROR_CAPTURED_EVENT"));
  GraphHandle graph = nullptr;
  EXPECT_EQ(end(graph), kStreamCaptureInvalidated);
}

TEST_F(Graphs, EndInTheThreadThatBeganThem) {
  begin();
  GraphHandle graph = nullptr;
  std::thread([&] { EXPECT_EQ(end(graph), kStreamCaptureWrongThread); }).join();
  EXPECT_EQ(end(graph), kStreamCaptureInvalidated);
}

TEST_F(Graphs, SayWhenTheyAreGone) {
  std::atomic<int> gone = 0;
  const auto count = [](void* counter) { ++*static_cast<std::atomic<int>*>(counter); };
  begin();
  EXPECT_DONE(call_on_host(
      driver_, stream_.get(), [](void*) {}, nullptr));
  const Capture capture = must(capture_of(driver_, stream_.get()));
  EXPECT_DONE(call_after_graph(driver_, capture.graph, count, &gone));
  const GraphExecHandle exec = end_and_make();  // the graph is gone, what was made of it is not
  replay(exec, 2);
  EXPECT_EQ(gone, 0);
  EXPECT_DONE(program_.cuGraphExecDestroy(exec));
  const Deadline deadline = soon();
  while (gone == 0 && !deadline.passed()) std::this_thread::yield();
  EXPECT_EQ(gone, 1);
}

TEST_F(Graphs, NobodyIsCalledForAGraphThatDoesNotTakeIt) {
  std::atomic<int> gone = 0;
  const auto count = [](void* counter) { ++*static_cast<std::atomic<int>*>(counter); };
  EXPECT_FALSE(call_after_graph(driver_, nullptr, count, &gone).ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(gone, 0);
}

}  // namespace
}  // namespace strait::cuda::test
