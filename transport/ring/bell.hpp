// Bell: a doorbell that its owner can take away. The other end of a ring rings it from its own
// threads and may outlive the rank that sleeps on it. Any thread; ringing costs an uncontended lock
// more than the doorbell itself, and happens only when somebody may be asleep.
#pragma once

#include <mutex>

#include "base/doorbell.hpp"

namespace strait {

class Bell {
 public:
  explicit Bell(Doorbell* doorbell = nullptr) : doorbell_(doorbell) {}

  void ring() {
    std::lock_guard lock(mutex_);
    if (doorbell_ != nullptr) doorbell_->ring();
  }
  // With nullptr: after it returns nobody touches the doorbell any more.
  void attach(Doorbell* doorbell) {
    std::lock_guard lock(mutex_);
    doorbell_ = doorbell;
  }

 private:
  std::mutex mutex_;
  Doorbell* doorbell_;
};

}  // namespace strait
