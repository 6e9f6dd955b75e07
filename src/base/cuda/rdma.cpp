#include "base/cuda/rdma.hpp"

namespace strait::cuda {

Result<UniqueFd> export_dma_buf(const Driver& driver, ContextHandle context, DevicePointer pointer,
                                size_t bytes) {
  STRAIT_ASSIGN(const ContextScope scope, ContextScope::enter(driver, context));
  int fd = -1;
  STRAIT_TRY(driver.cuMemGetHandleForAddressRange(&fd, pointer, bytes, kRangeDmaBuf, 0)
                 .at(fmt::format("{} bytes of device memory for a NIC", bytes)));
  return UniqueFd(fd);
}

Status order_copies_with_nic(const Driver& driver, DevicePointer pointer) {
  const unsigned on = 1;
  return driver.cuPointerSetAttribute(&on, kPointerSyncMemops, pointer);
}

}  // namespace strait::cuda
