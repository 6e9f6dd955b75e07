#include "base/cuda/memory.hpp"

namespace strait::cuda {

Result<DeviceMemory> DeviceMemory::allocate(const Driver& driver, ContextHandle context,
                                            size_t bytes, const std::string& purpose) {
  STRAIT_ASSIGN(const ContextScope scope, ContextScope::enter(driver, context));
  DevicePointer pointer = 0;
  STRAIT_TRY(driver.cuMemAlloc(&pointer, bytes)
                 .at(fmt::format("{} bytes of device memory for {}", bytes, purpose)));
  DeviceMemory memory;
  memory.memory_ = {driver, context, pointer, [](const Driver& owner, DevicePointer mine) {
                      report_release("cuMemFree", owner.cuMemFree.code(mine));
                    }};
  memory.bytes_ = bytes;
  return memory;
}

Status copy(const Driver& driver, DevicePointer target, DevicePointer source, size_t bytes,
            StreamHandle stream) {
  return driver.cuMemcpyAsync(target, source, bytes, stream);
}

Status fill(const Driver& driver, DevicePointer target, unsigned char value, size_t bytes,
            StreamHandle stream) {
  return driver.cuMemsetD8Async(target, value, bytes, stream);
}

}  // namespace strait::cuda
