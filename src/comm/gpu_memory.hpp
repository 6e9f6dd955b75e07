// Memory of a GPU for ncclMemAlloc: made so that peers can share it, by file descriptor and, where
// the machine lets it, by fabric handle, and reachable by every GPU of this process that can be its
// peer. Any thread; an allocation may wait for the device.
#pragma once

#include <cstddef>

#include "base/status.hpp"

namespace strait {

// Where the caller is on GPU `device`.
Result<void*> allocate_on_gpu(int device, size_t bytes);
// Whether the pointer is the start of memory from allocate_on_gpu(): then it is free now.
bool free_on_gpu(void* pointer);

}  // namespace strait
