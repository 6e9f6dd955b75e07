// GpuSlots: memory of one GPU for the slots of links, which NICs read and write. Made once per
// communicator on a GPU; what it gives out keeps the GPU's context. Any thread; costs an allocation
// of the driver per link.
#pragma once

#include <memory>

#include "base/config.hpp"
#include "transport/device_slots.hpp"

namespace strait {

// `ordinal`: of the GPU. Null where the settings or the GPU want no NIC in its memory; then the log
// says why.
Result<std::shared_ptr<DeviceSlotSource>> gpu_slots(int ordinal, const Config& config);

}  // namespace strait
