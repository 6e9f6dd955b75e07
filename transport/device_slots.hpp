// Slots in the memory of a GPU: made by whoever knows its driver (src/comm), filled and emptied by
// its kernels, and read and written by a NIC that can (GPUDirect). Transports know of no GPU; they
// are handed a source of such memory. Any thread; once per link.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/fd.hpp"
#include "base/status.hpp"

namespace strait {

struct DeviceSlots {
  std::shared_ptr<std::byte> memory;  // whole pages, by the address that kernels and NICs know
  size_t bytes = 0;
  UniqueFd dma_buf;  // the same memory for drivers of NICs; or none
};

class DeviceSlotSource {
 public:
  virtual ~DeviceSlotSource() = default;

  virtual Result<DeviceSlots> allocate(size_t bytes) = 0;
  // Of the GPU, in /sys/devices; empty where nobody knows.
  virtual std::string place() const = 0;
  // What a NIC has written may be seen by kernels after its completion is: a read by the NIC, which
  // pushes it along, must come in between.
  virtual bool needs_flush() const = 0;
};

}  // namespace strait
