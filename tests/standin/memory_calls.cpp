// Plain memory: of a device, pinned, registered and managed, and legacy IPC.
#include <sys/mman.h>
#include <unistd.h>

#include "base/check.hpp"
#include "standin/machine.hpp"

namespace strait::standin {
namespace {

constexpr unsigned kHostFlags = 15;

Range* range_at(DevicePointer base, RangeKind kind) {
  Range* const range = machine().ranges.find(base);
  return range != nullptr && range->base == base && range->kind == kind ? range : nullptr;
}

// Frees as CUDA does: not before all work of the context is done, since it might use the memory.
int free_range(DevicePointer base, std::initializer_list<RangeKind> kinds) {
  ContextRef context;
  if (const int code = current(context); code != 0) return code;
  for (const RangeKind kind : kinds) {
    const Range* const range = range_at(base, kind);
    if (range == nullptr) continue;
    Context* const owner = range->context;
    for (const ContextRef& one :
         {context, machine().contexts.find(reinterpret_cast<ContextHandle>(owner))})
      if (one != nullptr) wait_for_all_work(one);
    if (context->failed != 0) return context->failed;
    machine().ranges.remove(base);
    return kSuccess;
  }
  return kInvalidValue;
}

DevicePointer number(const void* pointer) {
  return static_cast<DevicePointer>(reinterpret_cast<uintptr_t>(pointer));
}

void* fresh_pages(size_t bytes) {
  void* const pages =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  STRAIT_CHECK(pages != MAP_FAILED, "a test machine has addresses left");
  return pages;
}

int add_host_pages(RangeKind kind, void* pages, size_t bytes, Context* context) {
  machine().ranges.add({.kind = kind,
                        .base = number(pages),
                        .bytes = bytes,
                        .device = context->device,
                        .context = context,
                        .backing = nullptr});
  return kSuccess;
}

}  // namespace

int cuMemAlloc(DevicePointer* pointer, size_t bytes) {
  ContextRef context;
  if (const int code = current(context); code != 0) return code;
  if (bytes == 0) return kInvalidValue;
  BackingRef backing = make_backing(context->device, bytes, kHandleNone);
  if (backing == nullptr) return kOutOfMemory;
  *pointer = number(map_backing(*backing, 0, bytes, nullptr));
  machine().ranges.add({.kind = RangeKind::kDevice,
                        .base = *pointer,
                        .bytes = bytes,
                        .device = context->device,
                        .context = context.get(),
                        .backing = std::move(backing)});
  return kSuccess;
}

int cuMemFree(DevicePointer pointer) {
  if (pointer == 0) return kSuccess;
  return free_range(pointer, {RangeKind::kDevice, RangeKind::kManaged});
}

int cuMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  ContextRef context;
  if (const int code = current(context); code != 0) return code;
  *total_bytes = machine().settings.memory_bytes;
  *free_bytes = *total_bytes - machine().used_bytes[static_cast<size_t>(context->device)];
  return kSuccess;
}

int cuMemHostAlloc(void** pointer, size_t bytes, unsigned flags) {
  ContextRef context;
  if (const int code = current(context); code != 0) return code;
  if (bytes == 0 || flags > kHostFlags) return kInvalidValue;
  *pointer = fresh_pages(bytes);
  return add_host_pages(RangeKind::kPinned, *pointer, bytes, context.get());
}

int cuMemFreeHost(void* pointer) {
  return free_range(number(pointer), {RangeKind::kPinned});
}

int cuMemHostRegister(void* pointer, size_t bytes, unsigned flags) {
  ContextRef context;
  if (const int code = current(context); code != 0) return code;
  if (pointer == nullptr || bytes == 0 || flags > kHostFlags) return kInvalidValue;
  if (machine().ranges.overlaps(number(pointer), bytes)) {
    const Range* const there = machine().ranges.find(number(pointer));
    return there != nullptr && there->backing != nullptr ? kInvalidValue
                                                         : kHostMemoryAlreadyRegistered;
  }
  return add_host_pages(RangeKind::kRegistered, pointer, bytes, context.get());
}

int cuMemHostUnregister(void* pointer) {
  const int code = free_range(number(pointer), {RangeKind::kRegistered});
  return code == kInvalidValue ? kHostMemoryNotRegistered : code;
}

int cuMemHostGetDevicePointer(DevicePointer* device, void* host, unsigned flags) {
  ContextRef context;
  if (const int code = current(context); code != 0) return code;
  const Range* const range = machine().ranges.find(number(host));
  const bool is_host = range != nullptr &&
                       (range->kind == RangeKind::kPinned || range->kind == RangeKind::kRegistered);
  if (!is_host || flags != 0) return kInvalidValue;
  *device = number(host);
  return kSuccess;
}

int cuMemAllocManaged(DevicePointer* pointer, size_t bytes, unsigned) {
  ContextRef context;
  if (const int code = current(context); code != 0) return code;
  if (bytes == 0) return kInvalidValue;
  void* const pages = fresh_pages(bytes);
  *pointer = number(pages);
  return add_host_pages(RangeKind::kManaged, pages, bytes, context.get());
}

int cuIpcGetMemHandle(IpcHandle* handle, DevicePointer pointer) {
  ContextRef context;
  if (const int code = current(context); code != 0) return code;
  const Range* const range = machine().ranges.find(pointer);
  if (range == nullptr || range->kind != RangeKind::kDevice) return kInvalidValue;
  write_handle(*range->backing, HandleKind::kIpc, handle);
  return kSuccess;
}

int cuIpcOpenMemHandle(DevicePointer* pointer, IpcHandle handle, unsigned) {
  ContextRef context;
  if (const int code = current(context); code != 0) return code;
  if (process_of_handle(&handle, HandleKind::kIpc) == getpid()) return kInvalidContext;
  BackingRef backing = read_handle(&handle, HandleKind::kIpc);
  if (backing == nullptr) return kInvalidHandle;
  const size_t bytes = backing->bytes;
  *pointer = number(map_backing(*backing, 0, bytes, nullptr));
  machine().ranges.add({.kind = RangeKind::kImported,
                        .base = *pointer,
                        .bytes = bytes,
                        .device = context->device,
                        .context = context.get(),
                        .backing = std::move(backing)});
  return kSuccess;
}

int cuIpcCloseMemHandle(DevicePointer pointer) {
  return free_range(pointer, {RangeKind::kImported});
}

}  // namespace strait::standin
