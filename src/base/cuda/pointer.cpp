#include "base/cuda/pointer.hpp"

#include <array>

#include "base/cuda/memory.hpp"

namespace strait::cuda {
namespace {

struct Answers {
  ContextHandle context = nullptr;
  MemoryType type = MemoryType{};
  DevicePointer pointer = 0;
  unsigned long long buffer_id = 0;
  unsigned managed = 0;
  int device = -1;
  bool legacy_ipc = false;
  DevicePointer base = 0;
  size_t bytes = 0;
  uint64_t handles = 0;
};

MemoryKind kind_of(const Answers& answers) {
  if (answers.managed != 0) return MemoryKind::kManaged;
  if (answers.type == kMemoryDevice) return MemoryKind::kDevice;
  return answers.type == kMemoryHost ? MemoryKind::kPinned : MemoryKind::kHost;
}

}  // namespace

Result<PointerFacts> pointer_facts(const Driver& driver, const void* pointer) {
  Answers answers;
  std::array questions = {
      kPointerContext,    kPointerMemoryType,        kPointerDevicePointer,      kPointerBufferId,
      kPointerIsManaged,  kPointerDeviceOrdinal,     kPointerIsLegacyIpcCapable, kPointerRangeStart,
      kPointerRangeBytes, kPointerAllowedHandleTypes};
  std::array<void*, questions.size()> values = {
      &answers.context, &answers.type,   &answers.pointer,    &answers.buffer_id,
      &answers.managed, &answers.device, &answers.legacy_ipc, &answers.base,
      &answers.bytes,   &answers.handles};
  STRAIT_TRY(driver.cuPointerGetAttributes(static_cast<unsigned>(questions.size()),
                                           questions.data(), values.data(),
                                           device_pointer(pointer)));
  PointerFacts facts;
  facts.kind = kind_of(answers);
  if (facts.kind == MemoryKind::kHost) return facts;
  facts.device = answers.device;
  facts.context = answers.context;
  facts.pointer = answers.pointer;
  facts.base = answers.base;
  facts.bytes = answers.bytes;
  facts.buffer_id = answers.buffer_id;
  facts.legacy_ipc = answers.legacy_ipc;
  facts.file_descriptor = (answers.handles & kHandleFileDescriptor) != 0;
  facts.fabric = (answers.handles & kHandleFabric) != 0;
  return facts;
}

}  // namespace strait::cuda
