#include "base/cuda/pinned_memory.hpp"

namespace strait::cuda {
namespace {

constexpr unsigned kFlags = kHostPortable | kHostDeviceMap;

}  // namespace

Result<PinnedMemory> PinnedMemory::allocate(const Driver& driver, ContextHandle context,
                                            size_t bytes, const std::string& purpose) {
  STRAIT_ASSIGN(const ContextScope scope, ContextScope::enter(driver, context));
  const std::string place = fmt::format("{} bytes of pinned memory for {}", bytes, purpose);
  void* data = nullptr;
  STRAIT_TRY(driver.cuMemHostAlloc(&data, bytes, kFlags).at(place));
  PinnedMemory memory;
  memory.memory_ = {driver, context, data, [](const Driver& owner, void* mine) {
                      report_release("cuMemFreeHost", owner.cuMemFreeHost.code(mine));
                    }};
  memory.bytes_ = bytes;
  STRAIT_TRY(driver.cuMemHostGetDevicePointer(&memory.pointer_, data, 0).at(place));
  return memory;
}

Result<RegisteredMemory> RegisteredMemory::add(const Driver& driver, ContextHandle context,
                                               void* data, size_t bytes,
                                               const std::string& purpose) {
  STRAIT_ASSIGN(const ContextScope scope, ContextScope::enter(driver, context));
  const std::string place = fmt::format("pinning {} bytes of {}", bytes, purpose);
  STRAIT_TRY(driver.cuMemHostRegister(data, bytes, kFlags).at(place));
  RegisteredMemory memory;
  memory.memory_ = {driver, context, data, [](const Driver& owner, void* mine) {
                      report_release("cuMemHostUnregister", owner.cuMemHostUnregister.code(mine));
                    }};
  STRAIT_TRY(driver.cuMemHostGetDevicePointer(&memory.pointer_, data, 0).at(place));
  return memory;
}

}  // namespace strait::cuda
