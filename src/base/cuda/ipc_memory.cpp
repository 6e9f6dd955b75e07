#include "base/cuda/ipc_memory.hpp"

#include "base/cuda/pointer.hpp"

namespace strait::cuda {

Result<IpcExport> export_ipc(const Driver& driver, ContextHandle context, DevicePointer pointer) {
  STRAIT_ASSIGN(const ContextScope scope, ContextScope::enter(driver, context));
  STRAIT_ASSIGN(const PointerFacts facts,
                pointer_facts(driver, reinterpret_cast<const void*>(pointer)));
  IpcExport exported{};
  exported.offset_bytes = pointer - facts.base;
  STRAIT_TRY(driver.cuIpcGetMemHandle(&exported.handle, facts.base));
  return exported;
}

Result<IpcMemory> IpcMemory::open(const Driver& driver, ContextHandle context,
                                  const IpcExport& exported) {
  STRAIT_ASSIGN(const ContextScope scope, ContextScope::enter(driver, context));
  DevicePointer pointer = 0;
  STRAIT_TRY(driver.cuIpcOpenMemHandle(&pointer, exported.handle, kIpcLazyPeerAccess)
                 .at("a peer's memory by IPC handle"));
  IpcMemory memory;
  memory.memory_ = {driver, context, pointer, [](const Driver& owner, DevicePointer mine) {
                      report_release("cuIpcCloseMemHandle", owner.cuIpcCloseMemHandle.code(mine));
                    }};
  memory.offset_bytes_ = exported.offset_bytes;
  return memory;
}

}  // namespace strait::cuda
