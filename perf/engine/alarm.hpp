// Alarm: calls back when a test takes longer than it may (-T). One thread, which sleeps; armed and
// disarmed by thread 0.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace strait::perf {

class Alarm {
 public:
  // seconds 0: never rings, and no thread is made.
  Alarm(int seconds, std::function<void()> ring);
  ~Alarm();
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  void arm();
  void disarm();

 private:
  void wait();

  const int seconds_;
  const std::function<void()> ring_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  int64_t due_ns_ = 0;  // 0: disarmed
  std::thread thread_;
};

}  // namespace strait::perf
