// What a pointer is: whose memory, where its allocation begins and how it may be shared. Any
// thread, any current context; one call of the driver (under a microsecond), so once per buffer.
#pragma once

#include "base/cuda/driver.hpp"

namespace strait::cuda {

enum class MemoryKind {
  kHost,     // memory that CUDA knows nothing of
  kPinned,   // host memory that GPUs reach
  kDevice,   // memory of one GPU
  kManaged,  // moves between host and GPUs by itself
};

struct PointerFacts {
  MemoryKind kind = MemoryKind::kHost;
  int device = -1;                  // of kDevice, kManaged; where it was pinned for kPinned
  ContextHandle context = nullptr;  // null: host memory, or mapped by cuMemMap
  DevicePointer pointer = 0;        // as kernels name it
  DevicePointer base = 0;           // the allocation that it is in
  size_t bytes = 0;                 // of that allocation
  uint64_t buffer_id = 0;           // never used twice in a process
  bool legacy_ipc = false;
  bool file_descriptor = false;
  bool fabric = false;
};

Result<PointerFacts> pointer_facts(const Driver& driver, const void* pointer);

}  // namespace strait::cuda
