// PrimaryContext: a share in the context that the whole process has on one device, the one of the
// CUDA runtime too. Movable, one owner; any thread. The first share on a device costs about 0.2 s,
// later ones nothing. Everything made in it must be gone before the last share is.
#pragma once

#include "base/cuda/driver.hpp"

namespace strait::cuda {

class PrimaryContext {
 public:
  static Result<PrimaryContext> retain(const Driver& driver, int device);
  PrimaryContext(PrimaryContext&& other) noexcept
      : driver_(other.driver_),
        device_(other.device_),
        context_(std::exchange(other.context_, nullptr)) {}
  PrimaryContext& operator=(PrimaryContext&& other) noexcept;
  ~PrimaryContext() { release(); }

  ContextHandle get() const { return context_; }
  int device() const { return device_; }

 private:
  PrimaryContext(const Driver& driver, int device, ContextHandle context)
      : driver_(&driver), device_(device), context_(context) {}
  void release();

  const Driver* driver_;
  int device_;
  ContextHandle context_;
};

// What the program has current in this thread; null when nothing.
Result<ContextHandle> current_context(const Driver& driver);
Result<int> device_of(const Driver& driver, ContextHandle context);

// Bytes of the context's device that nobody uses now.
Result<size_t> free_bytes(const Driver& driver, ContextHandle context);

// Lets kernels in `from` use memory of `to`, once or again.
Status enable_peer_access(const Driver& driver, ContextHandle from, ContextHandle to);

}  // namespace strait::cuda
