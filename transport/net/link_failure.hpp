// The first failure of a link: set once by whichever thread finds it, read by all. Looking costs
// one load.
#pragma once

#include <atomic>
#include <mutex>

#include "base/status.hpp"

namespace strait::net {

class LinkFailure {
 public:
  // True for the first failure; later ones are ignored.
  bool set(const Status& why) {
    std::lock_guard lock(mutex_);
    if (failed_.load(std::memory_order_relaxed)) return false;
    why_ = why;
    failed_.store(true, std::memory_order_release);
    return true;
  }
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  Status status() const {
    if (!failed()) return Status();
    std::lock_guard lock(mutex_);
    return why_;
  }

 private:
  mutable std::mutex mutex_;
  std::atomic<bool> failed_{false};  // partner: set() stores after why_ is complete
  Status why_;
};

}  // namespace strait::net
