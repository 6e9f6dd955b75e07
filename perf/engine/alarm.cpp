#include "perf/engine/alarm.hpp"

#include <chrono>

#include "base/clock.hpp"

namespace strait::perf {

Alarm::Alarm(int seconds, std::function<void()> ring) : seconds_(seconds), ring_(std::move(ring)) {
  if (seconds_ > 0) thread_ = std::thread([this] { wait(); });
}

Alarm::~Alarm() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Alarm::arm() {
  const std::lock_guard lock(mutex_);
  due_ns_ = now_ns() + seconds_ * int64_t{1'000'000'000};
  changed_.notify_all();
}

void Alarm::disarm() {
  const std::lock_guard lock(mutex_);
  due_ns_ = 0;
}

void Alarm::wait() {
  constexpr int64_t kIdleNs = 60'000'000'000;
  std::unique_lock lock(mutex_);
  while (!ended_) {
    const int64_t left_ns = due_ns_ == 0 ? kIdleNs : due_ns_ - now_ns();
    if (left_ns <= 0) {
      due_ns_ = 0;
      lock.unlock();
      ring_();
      lock.lock();
      continue;
    }
    changed_.wait_for(lock, std::chrono::nanoseconds(left_ns));
  }
}

}  // namespace strait::perf
