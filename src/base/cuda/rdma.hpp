// Device memory for NICs: what registration with a network needs of the driver. Any thread; once
// per buffer, never on the hot path.
#pragma once

#include "base/cuda/owned.hpp"
#include "base/fd.hpp"

namespace strait::cuda {

// The memory as a DMA-BUF, for ibv_reg_dmabuf_mr. Start and size are multiples of the page.
Result<UniqueFd> export_dma_buf(const Driver& driver, ContextHandle context, DevicePointer pointer,
                                size_t bytes);

// Before a NIC writes there: copies that the driver makes by itself then complete before their call
// returns, so a NIC never sees half of one.
Status order_copies_with_nic(const Driver& driver, DevicePointer pointer);

}  // namespace strait::cuda
