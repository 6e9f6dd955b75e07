// ncclMemAlloc and ncclMemFree.

#include "comm/memory.hpp"

#include "api/export.hpp"
#include "api/result.hpp"
#include "nccl.h"

STRAIT_API(ncclResult_t, MemAlloc, (void** ptr, size_t size)) {
  return strait::api::guarded("ncclMemAlloc", [&]() -> strait::Status {
    if (ptr == nullptr)
      return strait::error(strait::Code::kInvalidArgument, "ptr is NULL: give it a place to go");
    *ptr = nullptr;
    if (size == 0)
      return strait::error(strait::Code::kInvalidArgument, "size is 0: ask for at least one byte");
    STRAIT_ASSIGN(*ptr, strait::allocate_shareable(size));
    return strait::Status();
  });
}

STRAIT_API(ncclResult_t, MemFree, (void* ptr)) {
  return strait::api::guarded("ncclMemFree", [&] {
    return ptr == nullptr ? strait::Status() : strait::free_shareable(ptr);
  });
}
