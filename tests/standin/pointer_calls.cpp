// What a pointer is.
#include "standin/guard.hpp"
#include "standin/machine.hpp"

namespace strait::standin {
namespace {

template <class Value>
void put(void* target, Value value) {
  std::memcpy(target, &value, sizeof value);
}

bool is_host(const Range& range) {
  return range.kind == RangeKind::kPinned || range.kind == RangeKind::kRegistered;
}

int answer(const Range& range, DevicePointer pointer, PointerAttribute attribute, void* value) {
  switch (attribute) {
    case kPointerContext:
      put(value, reinterpret_cast<ContextHandle>(range.context));
      return kSuccess;
    case kPointerMemoryType:
      put(value, is_host(range) ? kMemoryHost : kMemoryDevice);
      return kSuccess;
    case kPointerDevicePointer:
      put(value, pointer);
      return kSuccess;
    case kPointerHostPointer:
      put(value, is_host(range) || range.kind == RangeKind::kManaged ? pointer : 0);
      return kSuccess;
    case kPointerSyncMemops:
      put(value, range.sync_memops ? 1U : 0U);
      return kSuccess;
    case kPointerBufferId:
      put(value, range.id);
      return kSuccess;
    case kPointerIsManaged:
      put(value, range.kind == RangeKind::kManaged ? 1U : 0U);
      return kSuccess;
    case kPointerDeviceOrdinal:
      put(value, range.device);
      return kSuccess;
    case kPointerIsLegacyIpcCapable:
      put(value, range.kind == RangeKind::kDevice);
      return kSuccess;
    case kPointerRangeStart:
      put(value, range.base);
      return kSuccess;
    case kPointerRangeBytes:
      put(value, range.bytes);
      return kSuccess;
    case kPointerMapped:
      put(value, true);
      return kSuccess;
    case kPointerAllowedHandleTypes:
      put(value, uint64_t(range.backing == nullptr ? 0 : range.backing->handle_types));
      return kSuccess;
  }
  return kInvalidValue;
}

size_t bytes_of(PointerAttribute attribute) {
  switch (attribute) {
    case kPointerMemoryType:
    case kPointerSyncMemops:
    case kPointerIsManaged:
    case kPointerDeviceOrdinal:
      return 4;
    case kPointerIsLegacyIpcCapable:
    case kPointerMapped:
      return 1;
    default:
      return 8;
  }
}

}  // namespace

int cuPointerGetAttributes(unsigned count, PointerAttribute* attributes, void** values,
                           DevicePointer pointer) {
  const Range* const range = machine().ranges.find(pointer);
  for (unsigned i = 0; i < count; ++i) {
    // Memory that CUDA knows nothing of is no error here: all answers are zero.
    std::memset(values[i], 0, bytes_of(attributes[i]));
    if (range == nullptr && attributes[i] == kPointerDeviceOrdinal) put(values[i], -2);
    if (range == nullptr) continue;
    if (const int code = answer(*range, pointer, attributes[i], values[i]); code != 0) return code;
  }
  return kSuccess;
}

int cuPointerSetAttribute(const void* value, PointerAttribute attribute, DevicePointer pointer) {
  Range* const range = machine().ranges.find(pointer);
  if (range == nullptr || attribute != kPointerSyncMemops) return kInvalidValue;
  unsigned on = 0;
  std::memcpy(&on, value, sizeof on);
  range->sync_memops = on != 0;
  // Whoever asks for that is about to register the memory with a NIC.
  if (range->sync_memops && machine().settings.rdma)
    guard().open(reinterpret_cast<const void*>(pointer));
  return kSuccess;
}

}  // namespace strait::standin
