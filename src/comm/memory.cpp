#include "comm/memory.hpp"

#include <map>
#include <mutex>

#include "base/shared_memory.hpp"

namespace strait {
namespace {

struct Allocations {
  std::mutex mutex;
  std::map<void*, SharedMemory> by_pointer;
};

Allocations& allocations() {
  // Never destroyed: programs free from their own static destructors.
  static auto* all = new Allocations;
  return *all;
}

}  // namespace

Result<void*> allocate_shareable(size_t bytes) {
  STRAIT_ASSIGN(SharedMemory memory, SharedMemory::create("buffer", bytes));
  void* pointer = memory.data();
  Allocations& all = allocations();
  std::lock_guard lock(all.mutex);
  all.by_pointer.emplace(pointer, std::move(memory));
  return pointer;
}

Status free_shareable(void* pointer) {
  Allocations& all = allocations();
  std::lock_guard lock(all.mutex);
  if (all.by_pointer.erase(pointer) == 0)
    return error(Code::kInvalidArgument,
                 "{} is not memory from ncclMemAlloc, or was freed before: free it where it was "
                 "allocated",
                 pointer);
  return Status();
}

}  // namespace strait
