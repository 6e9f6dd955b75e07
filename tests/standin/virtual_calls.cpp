// Physical memory, addresses, and mapping one at the other.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/check.hpp"
#include "standin/guard.hpp"
#include "standin/machine.hpp"

namespace strait::standin {
namespace {

constexpr size_t kGranularity = size_t{2} << 20;

bool fits_device(const AllocationProperties& properties) {
  return properties.type == kAllocationPinned && properties.location.type == kLocationDevice &&
         properties.location.id >= 0 && properties.location.id < machine().settings.devices;
}

Physical* find_physical(AllocationHandle handle) {
  const auto at = machine().physical.find(handle);
  return at == machine().physical.end() ? nullptr : &at->second;
}

AllocationHandle add_physical(BackingRef backing) {
  const AllocationHandle handle = machine().next_id++;
  machine().physical[handle] = {std::move(backing)};
  return handle;
}

void* address_of(DevicePointer pointer) {
  return reinterpret_cast<void*>(pointer);
}

bool is_reserved(DevicePointer pointer, size_t bytes) {
  auto after = machine().reserved.upper_bound(pointer);
  if (after == machine().reserved.begin()) return false;
  const auto& [base, reserved_bytes] = *std::prev(after);
  return pointer + bytes <= base + reserved_bytes;
}

Range* mapping_at(DevicePointer pointer, size_t bytes) {
  Range* const range = machine().ranges.find(pointer);
  const bool exact = range != nullptr && range->kind == RangeKind::kMapped &&
                     range->base == pointer && range->bytes == bytes;
  return exact ? range : nullptr;
}

}  // namespace

int cuMemGetAllocationGranularity(size_t* bytes, const AllocationProperties* properties,
                                  GranularityOption) {
  if (!machine().settings.vmm) return kNotSupported;
  *bytes = kGranularity;
  return fits_device(*properties) ? kSuccess : kInvalidValue;
}

int cuMemCreate(AllocationHandle* handle, size_t bytes, const AllocationProperties* properties,
                unsigned long long flags) {
  const Settings& settings = machine().settings;
  if (!settings.vmm) return kNotSupported;
  const bool fabric = (properties->requested_handles & kHandleFabric) != 0;
  if (!fits_device(*properties) || bytes == 0 || bytes % kGranularity != 0 || flags != 0)
    return kInvalidValue;
  const bool descriptor = (properties->requested_handles & kHandleFileDescriptor) != 0;
  if (descriptor && !settings.descriptors) return kNotSupported;
  if (fabric && !settings.fabric.there) return kNotSupported;
  if (fabric && !settings.imex) return kNotPermitted;
  BackingRef backing = make_backing(properties->location.id, bytes, properties->requested_handles);
  if (backing == nullptr) return kOutOfMemory;
  *handle = add_physical(std::move(backing));
  return kSuccess;
}

int cuMemRelease(AllocationHandle handle) {
  Physical* const physical = find_physical(handle);
  if (physical == nullptr) return kInvalidValue;
  if (--physical->references == 0) machine().physical.erase(handle);
  return kSuccess;
}

int cuMemAddressReserve(DevicePointer* pointer, size_t bytes, size_t, DevicePointer wish,
                        unsigned long long flags) {
  if (bytes == 0 || bytes % kGranularity != 0 || flags != 0) return kInvalidValue;
  void* const address =
      mmap(address_of(wish), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) return kOutOfMemory;
  *pointer = reinterpret_cast<DevicePointer>(address);
  machine().reserved[*pointer] = bytes;
  return kSuccess;
}

int cuMemAddressFree(DevicePointer pointer, size_t bytes) {
  const auto at = machine().reserved.find(pointer);
  if (at == machine().reserved.end() || at->second != bytes) return kInvalidValue;
  if (machine().ranges.overlaps(pointer, bytes)) return kInvalidValue;
  STRAIT_CHECK(munmap(address_of(pointer), bytes) == 0, "what was mapped can be unmapped");
  machine().reserved.erase(at);
  return kSuccess;
}

int cuMemMap(DevicePointer pointer, size_t bytes, size_t offset, AllocationHandle handle,
             unsigned long long flags) {
  const Physical* const physical = find_physical(handle);
  if (physical == nullptr || flags != 0 || offset != 0 || !is_reserved(pointer, bytes) ||
      bytes > physical->backing->bytes)
    return kInvalidValue;
  if (machine().ranges.overlaps(pointer, bytes)) return kAlreadyMapped;
  map_backing(*physical->backing, offset, bytes, address_of(pointer));
  // Nobody has access until cuMemSetAccess gives it.
  STRAIT_CHECK(mprotect(address_of(pointer), bytes, PROT_NONE) == 0, "a mapping can be closed");
  machine().ranges.add({.kind = RangeKind::kMapped,
                        .base = pointer,
                        .bytes = bytes,
                        .device = physical->backing->device,
                        .context = nullptr,
                        .backing = physical->backing});
  return kSuccess;
}

int cuMemUnmap(DevicePointer pointer, size_t bytes) {
  if (mapping_at(pointer, bytes) == nullptr) return kInvalidValue;
  machine().ranges.remove(pointer);
  return kSuccess;
}

int cuMemSetAccess(DevicePointer pointer, size_t bytes, const AccessDescription* access,
                   size_t count) {
  Range* const range = mapping_at(pointer, bytes);
  if (range == nullptr || count == 0) return kInvalidValue;
  for (size_t i = 0; i < count; ++i) {
    const int device = access[i].location.id;
    if (device < 0 || device >= machine().settings.devices) return kInvalidDevice;
    if (device != range->device && !machine().settings.peer) return kPeerAccessUnsupported;
    range->accessible |= uint64_t{1} << device;
  }
  STRAIT_CHECK(mprotect(address_of(pointer), bytes, PROT_READ | PROT_WRITE) == 0,
               "a mapping can be opened");
  guard().add(address_of(pointer), bytes);
  return kSuccess;
}

int cuMemExportToShareableHandle(void* shareable, AllocationHandle handle, HandleType type,
                                 unsigned long long flags) {
  const Physical* const physical = find_physical(handle);
  if (physical == nullptr || flags != 0) return kInvalidValue;
  if ((physical->backing->handle_types & type) == 0) return kInvalidValue;
  if (type == kHandleFabric) {
    write_handle(*physical->backing, HandleKind::kFabric, shareable);
    return kSuccess;
  }
  const int fd = fcntl(physical->backing->fd.get(), F_DUPFD_CLOEXEC, 0);
  std::memcpy(shareable, &fd, sizeof fd);
  return fd < 0 ? kOperatingSystem : kSuccess;
}

int cuMemImportFromShareableHandle(AllocationHandle* handle, void* shareable, HandleType type) {
  if (type == kHandleFabric && !machine().settings.imex) return kNotPermitted;
  BackingRef backing;
  if (type == kHandleFabric) {
    backing = read_handle(shareable, HandleKind::kFabric);
  } else if (type == kHandleFileDescriptor) {
    const int fd = static_cast<int>(reinterpret_cast<intptr_t>(shareable));
    UniqueFd copy(fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (copy) backing = backing_of(std::move(copy));
  }
  if (backing == nullptr) return kInvalidHandle;
  *handle = add_physical(std::move(backing));
  return kSuccess;
}

int cuMemRetainAllocationHandle(AllocationHandle* handle, void* pointer) {
  const Range* const range = machine().ranges.find(reinterpret_cast<DevicePointer>(pointer));
  if (range == nullptr || range->kind != RangeKind::kMapped) return kInvalidValue;
  for (auto& [id, physical] : machine().physical) {
    if (physical.backing != range->backing) continue;
    ++physical.references;
    *handle = id;
    return kSuccess;
  }
  *handle = add_physical(range->backing);
  return kSuccess;
}

int cuMemGetHandleForAddressRange(void*, DevicePointer, size_t, RangeHandleType,
                                  unsigned long long) {
  return kNotSupported;  // no device here makes DMA-BUFs, and its attribute says so
}

}  // namespace strait::standin
