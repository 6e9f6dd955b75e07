// Port: one port of an RDMA device of this host as the kernel describes it (/sys/class/infiniband),
// and which ports a rank uses. Values and pure functions, but for read_ports(); any thread; when a
// communicator is made.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace strait::verbs {

// How a GID makes packets travel, the better first: both ends need the same.
enum class GidKind : uint8_t { kRoceV2Ip4, kRoceV2Ip6, kRoceV2Local, kRoceV1, kInfiniBand };
inline constexpr int kGidKinds = 5;
std::string_view name_of(GidKind kind);

using GidBytes = std::array<uint8_t, 16>;

struct Gid {
  GidKind kind = GidKind::kRoceV2Ip4;
  uint16_t index = 0;  // in the port's table
  GidBytes bytes{};

  bool operator==(const Gid&) const = default;
  std::string text() const;  // as an IP address
};

struct Port {
  std::string device;
  int number = 1;
  bool ethernet = false;
  std::string state;      // "ACTIVE", "DOWN", ...
  double gigabits = 0;    // per second
  uint16_t lid = 0;       // InfiniBand's
  std::string place;      // path of the device in /sys/devices: PCI bridges on the way to it
  std::vector<Gid> gids;  // that are set

  bool active() const { return state == "ACTIVE"; }
  std::string name() const;  // "mlx5_0:1"
};

// Every port of every device below `folder`; empty where there is none.
std::vector<Port> read_ports(const std::string& folder = "/sys/class/infiniband");

// What the settings say of ports.
struct PortWishes {
  std::string names{};  // "mlx5" (prefix), "=mlx5_0:1" (exactly), "^mlx5_2" (all but), comma list
  int gid_index = -1;   // only this entry of the table
  std::string family = "any";  // AF_INET, AF_INET6: of RoCE's GIDs
  int roce_version = 0;        // 1, 2; 0: both
  std::string near{};          // place of the GPU, in /sys/devices; empty: ports are equally near
};
// The usable ones, each with its usable GIDs, best first: of those that are nearest. An error says
// what there is and why it is of no use.
Result<std::vector<Port>> choose_ports(const std::vector<Port>& ports, const PortWishes& wishes);

// How far a port and a GPU lie from each other, from their places in /sys/devices. NCCL's names of
// some distances stand in the setting NET_GDR_LEVEL.
enum class Distance { kSameBridge, kSameRoot, kFar };
Distance distance(const std::string& a, const std::string& b);  // kSameBridge where one is unknown
Distance distance_of(const std::string& level);                 // the most that it allows

}  // namespace strait::verbs
