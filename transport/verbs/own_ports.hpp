// The ports that a rank uses: chosen by the settings, each with its device, opened. A value, made
// when a communicator is made; any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "transport/device_slots.hpp"
#include "transport/verbs/address.hpp"
#include "transport/verbs/device.hpp"

namespace strait::verbs {

struct OwnPorts {
  std::vector<Port> ports;
  std::vector<std::shared_ptr<Device>> devices;  // of each port
  std::vector<PortAddress> addresses;            // the same, as peers see them
  bool reach_gpu = false;  // they are near enough to the rank's GPU to use its memory

  // "mlx5_0:1 (InfiniBand, 400 Gbit/s), ..."
  std::string text() const;
};

// One at least, or why there is none. The nearest to the GPU, if there is one.
Result<OwnPorts> open_ports(const Config& config, const DeviceSlotSource* gpu);

}  // namespace strait::verbs
