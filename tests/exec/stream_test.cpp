// Host streams: order, what synchronize sees, joins over several streams, handles that are none.
#include "exec/stream.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace strait {
namespace {

Deadline soon() {
  return Deadline::after_ms(20'000);
}

// Lets a task wait until the test opens it.
class Gate {
 public:
  void open() { open_.store(true); }
  void pass() const {
    const Deadline deadline = soon();
    while (!open_.load() && !deadline.passed()) std::this_thread::yield();
  }

 private:
  std::atomic<bool> open_{false};  // partner: pass(), in a task
};

TEST(HostStream, RunsTasksInOrderOnOneOtherThread) {
  HostStream stream;
  std::vector<int> order;  // not atomic: the stream's order and synchronize() must make it safe
  std::thread::id runner;
  for (int i = 0; i < 1000; ++i)
    ASSERT_TRUE(stream
                    .enqueue([&, i] {
                      order.push_back(i);
                      runner = std::this_thread::get_id();
                    })
                    .ok());
  ASSERT_TRUE(stream.synchronize(soon()).ok());
  ASSERT_EQ(order.size(), 1000u);
  EXPECT_TRUE(std::ranges::is_sorted(order));
  EXPECT_NE(runner, std::this_thread::get_id());
}

TEST(HostStream, IdleSaysWhetherWorkIsLeft) {
  HostStream stream;
  EXPECT_TRUE(stream.idle());
  Gate gate;
  ASSERT_TRUE(stream.enqueue([&] { gate.pass(); }).ok());
  EXPECT_FALSE(stream.idle());
  gate.open();
  ASSERT_TRUE(stream.synchronize(soon()).ok());
  EXPECT_TRUE(stream.idle());
}

TEST(HostStream, SynchronizeEndsAtItsDeadline) {
  HostStream stream;
  Gate gate;
  ASSERT_TRUE(stream.enqueue([&] { gate.pass(); }).ok());
  const Status late = stream.synchronize(Deadline::after_ms(20));
  EXPECT_EQ(late.code(), Code::kTimeout);
  EXPECT_THAT(late.message(), testing::HasSubstr("1 tasks"));
  gate.open();
  EXPECT_TRUE(stream.synchronize(soon()).ok());
}

TEST(HostStream, SynchronizeWaitsOnlyForWhatCameBefore) {
  // The first task enqueues a second one that blocks, once this thread is about to wait. It may be
  // too early for that now and then, so one success in several attempts is what must be seen.
  bool passed_the_blocked_task = false;
  for (int attempt = 0; attempt < 20 && !passed_the_blocked_task; ++attempt) {
    HostStream stream;
    Gate waiting;
    Gate blocked;
    ASSERT_TRUE(stream
                    .enqueue([&] {
                      waiting.pass();
                      std::this_thread::sleep_for(std::chrono::milliseconds(5));
                      EXPECT_TRUE(stream.enqueue([&] { blocked.pass(); }).ok());
                    })
                    .ok());
    waiting.open();
    passed_the_blocked_task = stream.synchronize(Deadline::after_ms(200)).ok() && !stream.idle();
    blocked.open();
  }
  EXPECT_TRUE(passed_the_blocked_task);
}

TEST(HostStream, ATaskMayEnqueueButNotWaitForItself) {
  HostStream stream;
  Status inner;
  bool second_ran = false;
  ASSERT_TRUE(stream
                  .enqueue([&] {
                    inner = stream.synchronize(soon());
                    EXPECT_TRUE(stream.enqueue([&] { second_ran = true; }).ok());
                  })
                  .ok());
  ASSERT_TRUE(stream.synchronize(soon()).ok());
  ASSERT_TRUE(stream.synchronize(soon()).ok());
  EXPECT_EQ(inner.code(), Code::kInvalidUsage);
  EXPECT_TRUE(second_ran);
}

TEST(HostStream, DestructionRunsWhatIsQueued) {
  int ran = 0;
  {
    HostStream stream;
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(stream.enqueue([&] { ++ran; }).ok());
  }
  EXPECT_EQ(ran, 100);
}

TEST(HostStream, ATaskMayHoldTheLastReference) {
  auto stream = std::make_shared<HostStream>();
  Gate gate;
  std::atomic<bool> ran{false};  // partner: the task after the last reference went
  std::weak_ptr<HostStream> watch = stream;
  ASSERT_TRUE(stream
                  ->enqueue([&gate, &ran, held = stream]() mutable {
                    gate.pass();
                    EXPECT_TRUE(held->enqueue([&ran] { ran = true; }).ok());
                  })
                  .ok());
  stream.reset();
  EXPECT_FALSE(watch.expired());
  gate.open();
  const Deadline deadline = soon();
  while (!ran && !deadline.passed()) std::this_thread::yield();
  EXPECT_TRUE(ran);
}

TEST(HostStream, ManyThreadsShareAStream) {
  HostStream stream;
  int sum = 0;  // only tasks touch it
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        EXPECT_TRUE(stream.enqueue([&] { ++sum; }).ok());
        if (i % 50 == 0) {
          EXPECT_TRUE(stream.synchronize(soon()).ok());
        }
      }
    });
  for (auto& thread : threads) thread.join();
  ASSERT_TRUE(stream.synchronize(soon()).ok());
  EXPECT_EQ(sum, 4000);
}

std::vector<std::shared_ptr<HostStream>> make_streams(size_t count) {
  std::vector<std::shared_ptr<HostStream>> streams;
  for (size_t i = 0; i < count; ++i) streams.push_back(std::make_shared<HostStream>());
  return streams;
}

TEST(HostStreamJoin, RunsOnceAfterAllAndBeforeAnyGoesOn) {
  const auto streams = make_streams(3);
  std::vector<int> before(3);
  std::vector<int> seen_after(3);
  int joined = 0;
  int total = 0;
  for (size_t i = 0; i < 3; ++i)
    ASSERT_TRUE(streams[i]->enqueue([&before, i] { before[i] = static_cast<int>(i) + 1; }).ok());
  ASSERT_TRUE(enqueue_joined(streams, [&] {
                ++joined;
                total = before[0] + before[1] + before[2];
              }).ok());
  for (size_t i = 0; i < 3; ++i)
    ASSERT_TRUE(streams[i]->enqueue([&, i] { seen_after[i] = total; }).ok());
  for (const auto& stream : streams) ASSERT_TRUE(stream->synchronize(soon()).ok());
  EXPECT_EQ(joined, 1);
  EXPECT_THAT(seen_after, testing::Each(6));
}

TEST(HostStreamJoin, WaitsForTheSlowestStreamAndCountsAsWork) {
  const auto streams = make_streams(2);
  Gate gate;
  std::atomic<bool> joined{false};  // partner: the joined task
  ASSERT_TRUE(streams[0]->enqueue([&] { gate.pass(); }).ok());
  ASSERT_TRUE(enqueue_joined(streams, [&] { joined = true; }).ok());
  EXPECT_EQ(streams[1]->synchronize(Deadline::after_ms(30)).code(), Code::kTimeout);
  EXPECT_FALSE(joined);
  gate.open();
  EXPECT_TRUE(streams[1]->synchronize(soon()).ok());
  EXPECT_TRUE(joined);
}

TEST(HostStreamJoin, AStreamNamedTwiceJoinsOnce) {
  const auto one = make_streams(1);
  const std::vector<std::shared_ptr<HostStream>> twice = {one[0], one[0]};
  int ran = 0;
  ASSERT_TRUE(enqueue_joined(twice, [&] { ++ran; }).ok());
  ASSERT_TRUE(one[0]->synchronize(soon()).ok());
  EXPECT_EQ(ran, 1);
}

TEST(HostStreamJoin, CrossingJoinsOfManyThreadsDoNotWaitForEachOther) {
  auto streams = make_streams(4);
  std::atomic<int> ran{0};  // partner: joined tasks, on whichever thread
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      std::vector<std::shared_ptr<HostStream>> mine = {streams[t], streams[(t + 1) % 4],
                                                       streams[(t + 2) % 4]};
      for (int i = 0; i < 200; ++i) EXPECT_TRUE(enqueue_joined(mine, [&] { ++ran; }).ok());
    });
  for (auto& thread : threads) thread.join();
  streams.clear();  // each runs what is queued
  EXPECT_EQ(ran, 800);
}

TEST(HostStreamHandles, AHandleIsFoundUntilItIsDestroyed) {
  void* const handle = create_stream();
  auto found = find_stream(handle);
  ASSERT_TRUE(found.ok());
  int ran = 0;
  ASSERT_TRUE(found.value()->enqueue([&] { ++ran; }).ok());
  EXPECT_TRUE(destroy_stream(handle, soon()).ok());
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(find_stream(handle).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(destroy_stream(handle, soon()).code(), Code::kInvalidArgument);
  void* const next = create_stream();
  EXPECT_NE(next, handle);
  EXPECT_TRUE(destroy_stream(next, soon()).ok());
}

TEST(HostStreamHandles, ABusyStreamOutlivesAnImpatientDestroy) {
  void* const handle = create_stream();
  Gate gate;
  ASSERT_TRUE(find_stream(handle).value()->enqueue([&] { gate.pass(); }).ok());
  EXPECT_EQ(destroy_stream(handle, Deadline::after_ms(20)).code(), Code::kTimeout);
  EXPECT_TRUE(find_stream(handle).ok());
  gate.open();
  EXPECT_TRUE(destroy_stream(handle, soon()).ok());
}

TEST(HostStreamHandles, DefaultStreamsHaveNoQueueAndGarbageIsAnError) {
  for (const uintptr_t number : {0, 1, 2}) {
    const auto* handle = reinterpret_cast<void*>(number);
    EXPECT_TRUE(completes_before_return(handle));
    ASSERT_TRUE(find_stream(handle).ok());
    EXPECT_EQ(find_stream(handle).value(), nullptr);
    EXPECT_EQ(destroy_stream(handle, soon()).code(), Code::kInvalidArgument);
  }
  int local = 0;
  const auto garbage = find_stream(&local);
  EXPECT_EQ(garbage.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(garbage.status().message(), testing::HasSubstr("is no host stream"));
  EXPECT_FALSE(find_stream(reinterpret_cast<void*>(uintptr_t{0xdeadbeef})).ok());
}

TEST(HostStreamHandles, ManyThreadsCreateFindAndDestroy) {
  std::vector<std::thread> threads;
  std::atomic<int> ran{0};  // partner: the tasks
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 40; ++i) {
        void* const handle = create_stream();
        EXPECT_TRUE(find_stream(handle).value()->enqueue([&] { ++ran; }).ok());
        EXPECT_TRUE(destroy_stream(handle, soon()).ok());
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(ran, 240);
}

}  // namespace
}  // namespace strait
