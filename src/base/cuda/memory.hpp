// DeviceMemory: plain memory of one GPU (cuMemAlloc), for what no other process sees. Movable, one
// owner; any thread. Allocation may wait for the whole device: never on the hot path.
#pragma once

#include "base/cuda/owned.hpp"

namespace strait::cuda {

class DeviceMemory {
 public:
  DeviceMemory() = default;
  // `purpose` names it in errors.
  static Result<DeviceMemory> allocate(const Driver& driver, ContextHandle context, size_t bytes,
                                       const std::string& purpose);

  DevicePointer pointer() const { return memory_.get(); }
  void* data() const { return reinterpret_cast<void*>(memory_.get()); }
  size_t bytes() const { return bytes_; }

 private:
  Owned<DevicePointer> memory_;
  size_t bytes_ = 0;
};

// Any memory to any memory, in stream order; host memory should be pinned.
Status copy(const Driver& driver, DevicePointer target, DevicePointer source, size_t bytes,
            StreamHandle stream);
Status fill(const Driver& driver, DevicePointer target, unsigned char value, size_t bytes,
            StreamHandle stream);

inline DevicePointer device_pointer(const void* pointer) {
  return static_cast<DevicePointer>(reinterpret_cast<uintptr_t>(pointer));
}

}  // namespace strait::cuda
