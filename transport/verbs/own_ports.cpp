#include "transport/verbs/own_ports.hpp"

namespace strait::verbs {

std::string OwnPorts::text() const {
  std::string text;
  for (const Port& port : ports)
    text += fmt::format("{}{} ({} {}, {:g} Gbit/s)", text.empty() ? "" : ", ", port.name(),
                        name_of(port.gids.front().kind), port.gids.front().text(), port.gigabits);
  return text;
}

Result<OwnPorts> open_ports(const Config& config, const DeviceSlotSource* gpu) {
  if (config.ib_disable != 0)
    return error(Code::kInvalidUsage, "RDMA is turned off by STRAIT_IB_DISABLE (NCCL_IB_DISABLE)");
  const PortWishes wishes{.names = config.ib_hca,
                          .gid_index = static_cast<int>(config.ib_gid_index),
                          .family = config.ib_addr_family,
                          .roce_version = static_cast<int>(config.ib_roce_version),
                          .near = gpu != nullptr ? gpu->place() : ""};
  STRAIT_ASSIGN(std::vector<Port> chosen, choose_ports(read_ports(), wishes));
  OwnPorts own;
  own.reach_gpu = gpu != nullptr &&
                  distance(chosen.front().place, wishes.near) <= distance_of(config.gdr_level);
  Status refusal;
  for (Port& port : chosen) {
    const auto device = Device::open(port.device);
    const auto mtu = device.ok() ? (*device)->mtu(port.number) : device.status();
    if (!mtu.ok()) {
      refusal = mtu.status();
      continue;
    }
    own.addresses.push_back(
        {.ethernet = port.ethernet, .mtu = *mtu, .lid = port.lid, .gids = port.gids});
    own.devices.push_back(*device);
    own.ports.push_back(std::move(port));
  }
  if (own.ports.empty()) return refusal;
  return own;
}

}  // namespace strait::verbs
