// ContextScope: while it lives, calls of this thread go to one context and cannot disturb a capture
// that the program has under way; then all is as the caller had it. One thread, on the stack.
// Costs four calls of the driver that only touch thread-local state (about 100 ns).
#pragma once

#include "base/cuda/driver.hpp"

namespace strait::cuda {

class [[nodiscard]] ContextScope {
 public:
  static Result<ContextScope> enter(const Driver& driver, ContextHandle context);
  ContextScope(ContextScope&& other) noexcept
      : driver_(std::exchange(other.driver_, nullptr)), mode_(other.mode_) {}
  ContextScope& operator=(ContextScope&&) = delete;
  ~ContextScope();

 private:
  ContextScope(const Driver& driver, CaptureMode mode) : driver_(&driver), mode_(mode) {}

  const Driver* driver_;
  CaptureMode mode_;  // the caller's
};

}  // namespace strait::cuda
