// Memory that peers can share, buffers that programs register, and the memory that a communicator
// holds.

#include "comm/memory.hpp"

#include "api/export.hpp"
#include "api/handle.hpp"
#include "api/result.hpp"
#include "comm/device.hpp"
#include "comm/gpu_memory.hpp"
#include "nccl.h"

namespace strait::api {
namespace {

Status allocate(void** out, size_t bytes) {
  if (out == nullptr) return error(Code::kInvalidArgument, "ptr is NULL: give it a place to go");
  *out = nullptr;
  if (bytes == 0) return error(Code::kInvalidArgument, "size is 0: ask for at least one byte");
  STRAIT_ASSIGN(const Config config, Config::from_environment());
  STRAIT_ASSIGN(const Device device, device_of_caller(config, std::nullopt));
  STRAIT_ASSIGN(*out,
                device.gpu ? allocate_on_gpu(device.ordinal, bytes) : allocate_shareable(bytes));
  return Status();
}

Status free_memory(void* pointer) {
  if (pointer == nullptr || free_on_gpu(pointer)) return Status();
  return free_shareable(pointer);
}

Status register_buffer(ncclComm_t comm, const void* buffer, size_t bytes, void** out) {
  STRAIT_ASSIGN(const auto handle, find_handle(comm));
  if (out == nullptr) return error(Code::kInvalidArgument, "handle is NULL: give it a place to go");
  *out = nullptr;
  if (buffer == nullptr || bytes == 0)
    return error(Code::kInvalidArgument, "buff is {} and size {}: register memory that exists",
                 buffer, bytes);
  std::lock_guard lock(handle->mutex);
  const uintptr_t number = ++handle->last_registration;
  handle->registrations[number] = {.buffer = buffer, .bytes = bytes};
  *out = reinterpret_cast<void*>(number);
  return Status();
}

Status deregister_buffer(ncclComm_t comm, void* registration) {
  STRAIT_ASSIGN(const auto handle, find_any_handle(comm));
  if (registration == nullptr) return Status();
  std::lock_guard lock(handle->mutex);
  if (handle->registrations.erase(reinterpret_cast<uintptr_t>(registration)) == 0)
    return error(Code::kInvalidArgument,
                 "{} is not registered with this communicator, or was deregistered before",
                 registration);
  return Status();
}

// Every rank does so at the same place: who has given up its links must not be waited for.
Status suspend(ncclComm_t comm, int flags) {
  STRAIT_ASSIGN(const auto handle, find_handle(comm));
  if ((flags & ~NCCL_SUSPEND_MEM) != 0)
    return error(Code::kInvalidArgument, "flags is {}: there is only NCCL_SUSPEND_MEM (1)", flags);
  {
    std::lock_guard lock(handle->mutex);
    if (handle->suspended)
      return error(Code::kInvalidUsage, "the communicator is suspended already");
  }
  if ((flags & NCCL_SUSPEND_MEM) == 0) return Status();
  STRAIT_TRY(check_usable(*handle));
  STRAIT_TRY(handle->comm->release_memory());
  std::lock_guard lock(handle->mutex);
  handle->suspended = true;
  return Status();
}

// Memory comes back with the first call that needs it.
Status resume(ncclComm_t comm) {
  STRAIT_ASSIGN(const auto handle, find_handle(comm));
  std::lock_guard lock(handle->mutex);
  if (!handle->suspended)
    return error(Code::kInvalidUsage, "the communicator is not suspended: nothing to resume");
  handle->suspended = false;
  return Status();
}

Status memory_stats(ncclComm_t comm, ncclCommMemStat_t stat, uint64_t* out) {
  STRAIT_ASSIGN(const auto handle, find_handle(comm));
  if (out == nullptr) return error(Code::kInvalidArgument, "value is NULL: give it a place to go");
  const Communicator& communicator = *handle->comm;
  switch (stat) {
    case ncclStatGpuMemSuspend:
      *out = communicator.releasable_bytes();
      return Status();
    case ncclStatGpuMemSuspended: {
      std::lock_guard lock(handle->mutex);
      *out = handle->suspended ? 1 : 0;
      return Status();
    }
    case ncclStatGpuMemPersist:
      *out = communicator.kept_bytes();
      return Status();
    case ncclStatGpuMemTotal:
      *out = communicator.releasable_bytes() + communicator.kept_bytes();
      return Status();
  }
  return error(Code::kInvalidArgument, "stat {} is none of ncclCommMemStat_t's (0 to 3)",
               static_cast<int>(stat));
}

}  // namespace
}  // namespace strait::api

using strait::api::guarded;

STRAIT_API(ncclResult_t, MemAlloc, (void** ptr, size_t size)) {
  return guarded("ncclMemAlloc", [&] { return strait::api::allocate(ptr, size); });
}

STRAIT_API(ncclResult_t, MemFree, (void* ptr)) {
  return guarded("ncclMemFree", [&] { return strait::api::free_memory(ptr); });
}

STRAIT_API(ncclResult_t, CommRegister,
           (const ncclComm_t comm, void* buff, size_t size, void** handle)) {
  return guarded("ncclCommRegister",
                 [&] { return strait::api::register_buffer(comm, buff, size, handle); });
}

STRAIT_API(ncclResult_t, CommDeregister, (const ncclComm_t comm, void* handle)) {
  return guarded("ncclCommDeregister",
                 [&] { return strait::api::deregister_buffer(comm, handle); });
}

STRAIT_API(ncclResult_t, CommSuspend, (ncclComm_t comm, int flags)) {
  return guarded("ncclCommSuspend", [&] { return strait::api::suspend(comm, flags); });
}

STRAIT_API(ncclResult_t, CommResume, (ncclComm_t comm)) {
  return guarded("ncclCommResume", [&] { return strait::api::resume(comm); });
}

STRAIT_API(ncclResult_t, CommMemStats, (ncclComm_t comm, ncclCommMemStat_t stat, uint64_t* value)) {
  return guarded("ncclCommMemStats", [&] { return strait::api::memory_stats(comm, stat, value); });
}
