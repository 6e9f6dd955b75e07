// Host memory that GPUs reach: PinnedMemory is made here, RegisteredMemory is somebody else's that
// we pin for a while (shared memory of a link, for example). Both are good for every context of the
// process. Movable, one owner; any thread; costs about a page fault per page, never on the hot
// path.
#pragma once

#include "base/cuda/owned.hpp"

namespace strait::cuda {

class PinnedMemory {
 public:
  PinnedMemory() = default;
  // Not zeroed by contract; `purpose` names it in errors.
  static Result<PinnedMemory> allocate(const Driver& driver, ContextHandle context, size_t bytes,
                                       const std::string& purpose);

  std::byte* data() const { return static_cast<std::byte*>(memory_.get()); }
  DevicePointer pointer() const { return pointer_; }  // the same bytes as kernels name them
  size_t bytes() const { return bytes_; }

 private:
  Owned<void*> memory_;
  DevicePointer pointer_ = 0;
  size_t bytes_ = 0;
};

class RegisteredMemory {
 public:
  RegisteredMemory() = default;
  // The memory outlives this owner.
  static Result<RegisteredMemory> add(const Driver& driver, ContextHandle context, void* data,
                                      size_t bytes, const std::string& purpose);

  DevicePointer pointer() const { return pointer_; }

 private:
  Owned<void*> memory_;
  DevicePointer pointer_ = 0;
};

}  // namespace strait::cuda
