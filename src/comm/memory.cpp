#include "comm/memory.hpp"

#include "base/segments.hpp"

namespace strait {

Result<void*> allocate_shareable(size_t bytes) {
  STRAIT_ASSIGN(SharedMemory memory, SharedMemory::create("buffer", bytes));
  return Segments::instance().add(std::move(memory));
}

Status free_shareable(void* pointer) {
  if (Segments::instance().remove(pointer)) return Status();
  return error(Code::kInvalidArgument,
               "{} is not memory from ncclMemAlloc, or was freed before: free it where it was "
               "allocated",
               pointer);
}

}  // namespace strait
