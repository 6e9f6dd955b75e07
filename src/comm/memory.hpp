// Memory for ncclMemAlloc: shareable with the processes of this host, so that peers can come to
// read it in place. Any thread; an allocation costs a few system calls.
#pragma once

#include <cstddef>

#include "base/status.hpp"

namespace strait {

Result<void*> allocate_shareable(size_t bytes);
// An error if the pointer is not the start of memory from allocate_shareable().
Status free_shareable(void* pointer);

}  // namespace strait
