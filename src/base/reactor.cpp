#include "base/reactor.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <unordered_map>

#include "base/clock.hpp"
#include "base/fd.hpp"

namespace strait {
namespace {

// What the thread works on. The thread shares its ownership, so that a call-back may give up the
// last reference to the reactor and return into a loop that still exists.
class Loop : public std::enable_shared_from_this<Loop> {
 public:
  Status start() {
    epoll_ = UniqueFd(epoll_create1(EPOLL_CLOEXEC));
    if (!epoll_) return system_error("epoll_create1");
    timer_ = UniqueFd(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    if (!timer_) return system_error("timerfd_create");
    stop_ = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!stop_) return system_error("eventfd");
    for (int fd : {timer_.get(), stop_.get()}) {
      epoll_event event{.events = EPOLLIN, .data = {.u64 = key_of(fd, 0)}};
      if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return system_error("epoll_ctl");
    }
    // The program's signals are for the program's own threads.
    sigset_t all{};
    sigset_t before{};
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    Status status;
    try {
      thread_ = std::thread([self = shared_from_this()] { self->run(); });
    } catch (const std::system_error& failure) {
      status = error(Code::kSystemError,
                     "no thread for the background work: {}; raise the limit of processes "
                     "(ulimit -u)",
                     failure.what());
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return status;
  }

  void stop() {
    if (!thread_.joinable()) return;
    // Partner: run() looks before each call-back.
    stopping_.store(true, std::memory_order_release);
    const uint64_t one = 1;
    [[maybe_unused]] ssize_t n = write(stop_.get(), &one, sizeof one);
    if (on_thread())
      thread_.detach();
    else
      thread_.join();
  }

  Status add(int fd, uint32_t epoll_events, Reactor::Callback callback) {
    std::lock_guard lock(mutex_);
    const uint32_t generation = ++last_generation_;
    epoll_event event{.events = epoll_events, .data = {.u64 = key_of(fd, generation)}};
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return system_error("epoll_ctl");
    watchers_[fd] = {generation, std::make_shared<Reactor::Callback>(std::move(callback))};
    return Status();
  }

  void modify(int fd, uint32_t epoll_events) {
    std::lock_guard lock(mutex_);
    const auto found = watchers_.find(fd);
    if (found == watchers_.end()) return;
    const uint64_t key = key_of(fd, found->second.generation);
    epoll_event event{.events = epoll_events, .data = {.u64 = key}};
    epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
  }

  void remove(int fd) {
    std::shared_ptr<Reactor::Callback> callback;  // its captures go after the lock
    std::unique_lock lock(mutex_);
    if (const auto found = watchers_.find(fd); found != watchers_.end()) {
      epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
      callback = std::move(found->second.callback);
      watchers_.erase(found);
    }
    // Also when the call-back has removed itself and still runs.
    if (!on_thread())
      idle_.wait(lock, [&] { return running_key_ == 0 || fd_of(running_key_) != fd; });
    lock.unlock();
  }

  uint64_t schedule(int64_t at_ns, std::function<void()> callback) {
    std::lock_guard lock(mutex_);
    const uint64_t id = ++last_id_;
    // Not before now, so that a call-back that schedules itself cannot keep the loop from its fds.
    timers_.emplace(std::make_pair(std::max(at_ns, now_ns()), id), std::move(callback));
    if (timers_.begin()->first.second == id) arm();
    return id;
  }

  void cancel(uint64_t id) {
    std::function<void()> callback;  // its captures go after the lock
    std::unique_lock lock(mutex_);
    for (auto timer = timers_.begin(); timer != timers_.end(); ++timer) {
      if (timer->first.second != id) continue;
      callback = std::move(timer->second);
      timers_.erase(timer);
      break;
    }
    if (!on_thread()) idle_.wait(lock, [&] { return running_timer_ != id; });
    lock.unlock();
  }

 private:
  struct Watcher {
    uint32_t generation = 0;
    std::shared_ptr<Reactor::Callback> callback;
  };

  // Tells an fd from an earlier one of the same number, whose event may still be in the batch.
  static uint64_t key_of(int fd, uint32_t generation) {
    return uint64_t{generation} << 32 | static_cast<uint32_t>(fd);
  }

  static int fd_of(uint64_t key) { return static_cast<int>(key & 0xffffffff); }

  bool on_thread() const { return std::this_thread::get_id() == thread_.get_id(); }

  // Sets the timer to the earliest moment; mutex_ held.
  void arm() {
    itimerspec spec{};
    if (!timers_.empty()) {
      const int64_t at = std::max<int64_t>(timers_.begin()->first.first, 1);
      spec.it_value = {.tv_sec = at / 1'000'000'000, .tv_nsec = at % 1'000'000'000};
    }
    timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &spec, nullptr);
  }

  void run() {
    std::array<epoll_event, 64> events;
    while (!stopping()) {
      const int count =
          epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), -1);
      for (int i = 0; i < count && !stopping(); ++i) {
        if (events[i].data.u64 == key_of(timer_.get(), 0))
          run_timers();
        else
          run_watcher(events[i].data.u64, events[i].events);
      }
    }
  }

  bool stopping() const { return stopping_.load(std::memory_order_acquire); }

  void run_watcher(uint64_t key, uint32_t epoll_events) {
    std::unique_lock lock(mutex_);
    const auto found = watchers_.find(fd_of(key));
    if (found == watchers_.end() || found->second.generation != key >> 32) return;
    auto callback = found->second.callback;  // shared: it may remove itself while it runs
    running_key_ = key;
    lock.unlock();
    (*callback)(epoll_events);
    callback.reset();
    lock.lock();
    running_key_ = 0;
    idle_.notify_all();
  }

  void run_timers() {
    uint64_t expirations = 0;
    [[maybe_unused]] ssize_t n = read(timer_.get(), &expirations, sizeof expirations);
    std::unique_lock lock(mutex_);
    const int64_t now = now_ns();
    while (!timers_.empty() && timers_.begin()->first.first <= now && !stopping()) {
      auto callback = std::move(timers_.begin()->second);
      running_timer_ = timers_.begin()->first.second;
      timers_.erase(timers_.begin());
      lock.unlock();
      callback();
      callback = nullptr;
      lock.lock();
      running_timer_ = 0;
      idle_.notify_all();
    }
    arm();
  }

  UniqueFd epoll_;
  UniqueFd timer_;
  UniqueFd stop_;
  std::atomic<bool> stopping_{false};  // partner: stop() stores, run() loads
  std::mutex mutex_;
  std::condition_variable idle_;
  std::unordered_map<int, Watcher> watchers_;
  std::map<std::pair<int64_t, uint64_t>, std::function<void()>> timers_;
  uint64_t last_id_ = 0;
  uint32_t last_generation_ = 0;
  uint64_t running_key_ = 0;
  uint64_t running_timer_ = 0;
  std::thread thread_;
};

class EpollReactor final : public Reactor {
 public:
  explicit EpollReactor(std::shared_ptr<Loop> loop) : loop_(std::move(loop)) {}
  ~EpollReactor() override { loop_->stop(); }

  Status add(int fd, uint32_t epoll_events, Callback callback) override {
    return loop_->add(fd, epoll_events, std::move(callback));
  }
  void modify(int fd, uint32_t epoll_events) override { loop_->modify(fd, epoll_events); }
  void remove(int fd) override { loop_->remove(fd); }
  uint64_t schedule(int64_t at_ns, std::function<void()> callback) override {
    return loop_->schedule(at_ns, std::move(callback));
  }
  void cancel(uint64_t id) override { loop_->cancel(id); }

 private:
  std::shared_ptr<Loop> loop_;
};

}  // namespace

Result<std::shared_ptr<Reactor>> Reactor::get() {
  static std::mutex mutex;
  static std::weak_ptr<Reactor> current;
  static pid_t process = 0;  // that runs it: a forked child inherits the object but not the thread
  std::lock_guard lock(mutex);
  if (auto reactor = current.lock(); reactor && process == getpid()) return reactor;
  auto loop = std::make_shared<Loop>();
  STRAIT_TRY(loop->start());
  std::shared_ptr<Reactor> reactor = std::make_shared<EpollReactor>(std::move(loop));
  current = reactor;
  process = getpid();
  return reactor;
}

}  // namespace strait
