#include "base/reactor.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "base/clock.hpp"
#include "base/fd.hpp"

namespace strait {
namespace {

using std::chrono::milliseconds;

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) == 0) {
      read_end = UniqueFd(ends[0]);
      write_end = UniqueFd(ends[1]);
    }
  }
  void put() const { EXPECT_EQ(write(write_end.get(), "x", 1), 1); }
  void take() const {
    char byte = 0;
    EXPECT_EQ(read(read_end.get(), &byte, 1), 1);
  }
  UniqueFd read_end;
  UniqueFd write_end;
};

// True when the condition holds within ten seconds.
template <class Condition>
bool eventually(Condition condition) {
  const Deadline deadline = Deadline::after_ms(10'000);
  while (!condition() && !deadline.passed()) std::this_thread::sleep_for(milliseconds(1));
  return condition();
}

class ReactorTest : public testing::Test {
 protected:
  ReactorTest() : reactor_(std::move(*Reactor::get())) {}
  std::shared_ptr<Reactor> reactor_;
  Pipe pipe_;
};

TEST_F(ReactorTest, IsOnePerProcess) {
  EXPECT_EQ(*Reactor::get(), reactor_);
}

TEST_F(ReactorTest, CallsBackWhenAnFdIsReady) {
  std::atomic<int> calls{0};
  ASSERT_TRUE(reactor_
                  ->add(pipe_.read_end.get(), EPOLLIN,
                        [&](uint32_t events) {
                          EXPECT_TRUE(events & EPOLLIN);
                          pipe_.take();
                          ++calls;
                        })
                  .ok());
  pipe_.put();
  EXPECT_TRUE(eventually([&] { return calls == 1; }));
  pipe_.put();
  EXPECT_TRUE(eventually([&] { return calls == 2; }));
  reactor_->remove(pipe_.read_end.get());
}

TEST_F(ReactorTest, RefusesAnFdThatCannotBeWatched) {
  EXPECT_FALSE(reactor_->add(-1, EPOLLIN, [](uint32_t) {}).ok());
  ASSERT_TRUE(reactor_->add(pipe_.read_end.get(), EPOLLIN, [](uint32_t) {}).ok());
  EXPECT_FALSE(reactor_->add(pipe_.read_end.get(), EPOLLIN, [](uint32_t) {}).ok());
  reactor_->remove(pipe_.read_end.get());
}

TEST_F(ReactorTest, ModifyChangesWhatIsWatched) {
  std::atomic<int> calls{0};
  ASSERT_TRUE(reactor_
                  ->add(pipe_.read_end.get(), 0,
                        [&](uint32_t) {
                          pipe_.take();
                          ++calls;
                        })
                  .ok());
  pipe_.put();
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_EQ(calls, 0);
  reactor_->modify(pipe_.read_end.get(), EPOLLIN);
  EXPECT_TRUE(eventually([&] { return calls == 1; }));
  reactor_->remove(pipe_.read_end.get());
}

TEST_F(ReactorTest, AfterRemoveTheCallbackDoesNotRun) {
  for (int i = 0; i < 200; ++i) {
    Pipe pipe;
    std::atomic<bool> removed{false};
    std::atomic<bool> late{false};
    ASSERT_TRUE(reactor_
                    ->add(pipe.read_end.get(), EPOLLIN,
                          [&](uint32_t) {
                            std::this_thread::yield();
                            if (removed) late = true;
                          })
                    .ok());
    pipe.put();
    if (i % 2 == 0) std::this_thread::yield();
    reactor_->remove(pipe.read_end.get());
    removed = true;
    std::this_thread::yield();
    ASSERT_FALSE(late);
  }
}

TEST_F(ReactorTest, RemoveWaitsForARunningCallbackThatRemovedItself) {
  const int fd = pipe_.read_end.get();
  std::promise<void> entered;
  std::atomic<bool> left{false};
  ASSERT_TRUE(reactor_
                  ->add(fd, EPOLLIN,
                        [&](uint32_t) {
                          reactor_->remove(fd);
                          entered.set_value();
                          std::this_thread::sleep_for(milliseconds(30));
                          left = true;
                        })
                  .ok());
  pipe_.put();
  entered.get_future().wait();
  reactor_->remove(fd);
  EXPECT_TRUE(left);
}

TEST_F(ReactorTest, TimersRunInTheOrderOfTheirMoments) {
  std::string order;
  std::promise<void> last;
  const int64_t now = now_ns();
  reactor_->schedule(now + 40'000'000, [&] {
    order += "c";
    last.set_value();
  });
  reactor_->schedule(now + 20'000'000, [&] { order += "b"; });
  reactor_->schedule(0, [&] { order += "a"; });
  ASSERT_EQ(last.get_future().wait_for(std::chrono::seconds(10)), std::future_status::ready);
  EXPECT_EQ(order, "abc");
  EXPECT_GE(now_ns() - now, 40'000'000);
}

TEST_F(ReactorTest, ACancelledTimerDoesNotRun) {
  std::atomic<int> calls{0};
  const uint64_t id = reactor_->schedule(now_ns() + 20'000'000, [&] { ++calls; });
  reactor_->cancel(id);
  std::this_thread::sleep_for(milliseconds(40));
  EXPECT_EQ(calls, 0);
}

TEST_F(ReactorTest, CancelWaitsForARunningTimer) {
  std::promise<void> entered;
  std::atomic<bool> left{false};
  const uint64_t id = reactor_->schedule(0, [&] {
    entered.set_value();
    std::this_thread::sleep_for(milliseconds(30));
    left = true;
  });
  entered.get_future().wait();
  reactor_->cancel(id);
  EXPECT_TRUE(left);
}

TEST_F(ReactorTest, ATimerMayCancelItself) {
  std::promise<void> done;
  uint64_t id = 0;
  std::promise<void> id_known;
  id = reactor_->schedule(0, [&] {
    id_known.get_future().wait();
    reactor_->cancel(id);
    done.set_value();
  });
  id_known.set_value();
  EXPECT_EQ(done.get_future().wait_for(std::chrono::seconds(10)), std::future_status::ready);
}

// A timer that sets itself again at once must leave the loop time for its descriptors.
TEST_F(ReactorTest, ABusyTimerDoesNotStarveDescriptors) {
  std::atomic<bool> over{false};
  std::promise<void> ended;
  std::function<void()> again = [&] {
    if (over)
      ended.set_value();
    else
      reactor_->schedule(0, again);
  };
  reactor_->schedule(0, again);
  std::atomic<bool> called{false};
  ASSERT_TRUE(reactor_
                  ->add(pipe_.read_end.get(), EPOLLIN,
                        [&](uint32_t) {
                          pipe_.take();
                          called = true;
                        })
                  .ok());
  pipe_.put();
  EXPECT_TRUE(eventually([&] { return called.load(); }));
  over = true;
  ended.get_future().wait();
  reactor_->remove(pipe_.read_end.get());
}

TEST_F(ReactorTest, AnOldEventDoesNotReachTheNextUserOfTheNumber) {
  Pipe first;
  Pipe second;
  std::atomic<int> wrong{0};
  std::promise<void> done;
  // Both pipes are ready in one batch; the call-back that comes first puts a quiet fd in the
  // other's place.
  std::atomic<bool> swapped{false};
  auto swap = [&](Pipe& mine, Pipe& other) {
    mine.take();
    if (swapped.exchange(true)) return;
    reactor_->remove(other.read_end.get());
    Pipe quiet;
    ASSERT_EQ(dup2(quiet.read_end.get(), other.read_end.get()), other.read_end.get());
    ASSERT_TRUE(reactor_->add(other.read_end.get(), EPOLLIN, [&](uint32_t) { ++wrong; }).ok());
    other.write_end = std::move(quiet.write_end);
    reactor_->schedule(0, [&] { done.set_value(); });
  };
  reactor_->schedule(0, [&] {
    ASSERT_TRUE(
        reactor_->add(first.read_end.get(), EPOLLIN, [&](uint32_t) { swap(first, second); }).ok());
    ASSERT_TRUE(
        reactor_->add(second.read_end.get(), EPOLLIN, [&](uint32_t) { swap(second, first); }).ok());
    first.put();
    second.put();
  });
  ASSERT_EQ(done.get_future().wait_for(std::chrono::seconds(10)), std::future_status::ready);
  EXPECT_EQ(wrong, 0);
  reactor_->remove(first.read_end.get());
  reactor_->remove(second.read_end.get());
}

TEST_F(ReactorTest, SignalsAreLeftToTheProgram) {
  std::promise<bool> blocked;
  reactor_->schedule(0, [&] {
    sigset_t mask{};
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    blocked.set_value(sigismember(&mask, SIGTERM) == 1);
  });
  EXPECT_TRUE(blocked.get_future().get());
  sigset_t mine{};
  pthread_sigmask(SIG_SETMASK, nullptr, &mine);
  EXPECT_EQ(sigismember(&mine, SIGTERM), 0);
}

TEST(ReactorLife, EndsWithItsLastOwnerAndStartsAgain) {
  auto reactor = std::move(*Reactor::get());
  const std::weak_ptr<Reactor> watch = reactor;
  reactor.reset();
  EXPECT_TRUE(watch.expired());
  reactor = std::move(*Reactor::get());
  std::promise<void> called;
  reactor->schedule(0, [&] { called.set_value(); });
  EXPECT_EQ(called.get_future().wait_for(std::chrono::seconds(10)), std::future_status::ready);
}

TEST(ReactorLife, ACallbackMayDropTheLastOwner) {
  for (int i = 0; i < 50; ++i) {
    auto reactor = std::move(*Reactor::get());
    auto owner = std::make_shared<std::shared_ptr<Reactor>>(reactor);
    std::promise<void> dropped;
    std::promise<void> alone;
    auto wait_alone = std::make_shared<std::shared_future<void>>(alone.get_future());
    reactor->schedule(0, [owner, wait_alone, &dropped] {
      wait_alone->wait();
      owner->reset();
      dropped.set_value();
    });
    reactor.reset();
    alone.set_value();
    dropped.get_future().wait();
  }
}

}  // namespace
}  // namespace strait
