// Legacy IPC: plain device memory of another process of this host, where cuMemCreate's handles are
// not to be had. The handle names a whole allocation; who exports adds the offset. Movable, one
// owner; any thread; opening costs a mapping and enables peer access.
#pragma once

#include "base/cuda/owned.hpp"

namespace strait::cuda {

struct IpcExport {
  IpcHandle handle;
  size_t offset_bytes;  // of the pointer within its allocation
};
Result<IpcExport> export_ipc(const Driver& driver, ContextHandle context, DevicePointer pointer);

class IpcMemory {
 public:
  IpcMemory() = default;
  static Result<IpcMemory> open(const Driver& driver, ContextHandle context,
                                const IpcExport& exported);

  DevicePointer pointer() const { return memory_.get() + offset_bytes_; }
  void* data() const { return reinterpret_cast<void*>(pointer()); }

 private:
  Owned<DevicePointer> memory_;
  size_t offset_bytes_ = 0;
};

}  // namespace strait::cuda
