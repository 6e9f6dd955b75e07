#include "base/reactor.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "base/fd.hpp"

namespace strait {
namespace {

class EpollReactor final : public Reactor {
 public:
  ~EpollReactor() override { stop(); }

  Status start() {
    epoll_ = UniqueFd(epoll_create1(EPOLL_CLOEXEC));
    if (!epoll_) return system_error("epoll_create1");
    timer_ = UniqueFd(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    if (!timer_) return system_error("timerfd_create");
    stop_ = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!stop_) return system_error("eventfd");
    for (int fd : {timer_.get(), stop_.get()}) {
      epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
      if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return system_error("epoll_ctl");
    }
    thread_ = std::thread([this] { run(); });
    return Status();
  }

  Status add(int fd, uint32_t epoll_events, Callback callback) override {
    std::lock_guard lock(mutex_);
    watchers_[fd] = std::make_shared<Callback>(std::move(callback));
    epoll_event event{.events = epoll_events, .data = {.fd = fd}};
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
      watchers_.erase(fd);
      return system_error("epoll_ctl");
    }
    return Status();
  }

  void modify(int fd, uint32_t epoll_events) override {
    epoll_event event{.events = epoll_events, .data = {.fd = fd}};
    epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
  }

  void remove(int fd) override {
    std::unique_lock lock(mutex_);
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
    watchers_.erase(fd);
    if (std::this_thread::get_id() != thread_.get_id())
      idle_.wait(lock, [&] { return running_fd_ != fd; });
  }

  uint64_t schedule(int64_t at_ns, std::function<void()> callback) override {
    std::lock_guard lock(mutex_);
    const uint64_t id = ++last_id_;
    timers_.emplace(std::make_pair(at_ns, id), std::move(callback));
    if (timers_.begin()->first.second == id) arm();
    return id;
  }

  void cancel(uint64_t id) override {
    std::unique_lock lock(mutex_);
    std::erase_if(timers_, [id](const auto& entry) { return entry.first.second == id; });
    if (std::this_thread::get_id() != thread_.get_id())
      idle_.wait(lock, [&] { return running_timer_ != id; });
  }

 private:
  void stop() {
    if (!thread_.joinable()) return;
    const uint64_t one = 1;
    [[maybe_unused]] ssize_t n = write(stop_.get(), &one, sizeof one);
    // The last owner may be a call-back; the thread then ends by itself.
    if (std::this_thread::get_id() == thread_.get_id())
      thread_.detach();
    else
      thread_.join();
  }

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
    std::vector<epoll_event> events(64);
    while (true) {
      const int count =
          epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), -1);
      for (int i = 0; i < count; ++i) {
        const int fd = events[i].data.fd;
        if (fd == stop_.get()) return;
        if (fd == timer_.get())
          run_timers();
        else
          run_watcher(fd, events[i].events);
      }
    }
  }

  void run_watcher(int fd, uint32_t epoll_events) {
    std::unique_lock lock(mutex_);
    const auto found = watchers_.find(fd);
    if (found == watchers_.end()) return;
    const std::shared_ptr<Callback> callback = found->second;  // may remove itself while it runs
    running_fd_ = fd;
    lock.unlock();
    (*callback)(epoll_events);
    lock.lock();
    running_fd_ = -1;
    idle_.notify_all();
  }

  void run_timers() {
    uint64_t expirations = 0;
    [[maybe_unused]] ssize_t n = read(timer_.get(), &expirations, sizeof expirations);
    std::unique_lock lock(mutex_);
    const int64_t now = now_ns();
    while (!timers_.empty() && timers_.begin()->first.first <= now) {
      const auto callback = std::move(timers_.begin()->second);
      running_timer_ = timers_.begin()->first.second;
      timers_.erase(timers_.begin());
      lock.unlock();
      callback();
      lock.lock();
      running_timer_ = 0;
      idle_.notify_all();
    }
    arm();
  }

  UniqueFd epoll_;
  UniqueFd timer_;
  UniqueFd stop_;
  std::mutex mutex_;
  std::condition_variable idle_;
  std::unordered_map<int, std::shared_ptr<Callback>> watchers_;
  std::map<std::pair<int64_t, uint64_t>, std::function<void()>> timers_;
  uint64_t last_id_ = 0;
  int running_fd_ = -1;
  uint64_t running_timer_ = 0;
  std::thread thread_;
};

}  // namespace

Result<std::shared_ptr<Reactor>> Reactor::get() {
  static std::mutex mutex;
  static std::weak_ptr<Reactor> current;
  std::lock_guard lock(mutex);
  if (auto reactor = current.lock()) return reactor;
  auto reactor = std::make_shared<EpollReactor>();
  STRAIT_TRY(reactor->start());
  current = reactor;
  return std::shared_ptr<Reactor>(reactor);
}

}  // namespace strait
