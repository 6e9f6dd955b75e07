// Owned: a handle of the driver together with the context that it lives in, given back exactly
// once. The base of every owner here. Movable, one owner; give it back from any thread, while no
// other uses it. It must not outlive the owner of its context.
#pragma once

#include "base/cuda/scope.hpp"

namespace strait::cuda {

template <class Handle>
class Owned {
 public:
  // Gives the handle back and reports what went wrong by report_release().
  using Release = void (*)(const Driver& driver, Handle handle);

  Owned() = default;
  Owned(const Driver& driver, ContextHandle context, Handle handle, Release release)
      : driver_(&driver), context_(context), handle_(handle), release_(release) {}
  Owned(Owned&& other) noexcept { *this = std::move(other); }
  Owned& operator=(Owned&& other) noexcept {
    if (this == &other) return *this;
    reset();
    driver_ = other.driver_;
    context_ = other.context_;
    handle_ = std::exchange(other.handle_, Handle{});
    release_ = other.release_;
    return *this;
  }
  ~Owned() { reset(); }

  Handle get() const { return handle_; }
  const Driver& driver() const { return *driver_; }
  ContextHandle context() const { return context_; }
  explicit operator bool() const { return handle_ != Handle{}; }

  void reset() {
    if (handle_ == Handle{}) return;
    const Handle handle = std::exchange(handle_, Handle{});
    // A context that cannot be entered any more has taken its handles with it.
    if (const auto scope = ContextScope::enter(*driver_, context_); scope.ok())
      release_(*driver_, handle);
  }

 private:
  const Driver* driver_ = nullptr;
  ContextHandle context_ = nullptr;
  Handle handle_{};
  Release release_ = nullptr;
};

}  // namespace strait::cuda
