// What the ranks tell each other of their RDMA ports, as text that is handed round, and which of
// two ranks' ports are joined. What comes from a peer is believed only after it was checked. Values
// and pure functions; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "transport/net/address.hpp"
#include "transport/verbs/port.hpp"

namespace strait::verbs {

// A port as its peers see it.
struct PortAddress {
  bool ethernet = false;
  uint8_t mtu = 1;  // as verbs count it: 1 is 256 bytes, 5 is 4096
  uint16_t lid = 0;
  std::vector<Gid> gids;

  bool operator==(const PortAddress&) const = default;
};

struct RankAddress {
  std::vector<net::Address> listener;
  std::vector<PortAddress> ports;

  bool operator==(const RankAddress&) const = default;
};

std::string format(const RankAddress& address);
// Nothing where a byte of it cannot be.
std::optional<RankAddress> parse_address(std::string_view text);

// A port and one of its GIDs, by their places in the lists.
struct PortGid {
  uint8_t port = 0;
  uint8_t gid = 0;

  bool operator==(const PortGid&) const = default;
};
struct Route {
  PortGid local;
  PortGid remote;

  bool operator==(const Route&) const = default;
};
// The route of a lane's links with that kind of GID, if both ends have it. Lanes take ports in
// turn; the n-th port of one rank is joined to the n-th of the other, as rails are cabled.
std::optional<Route> route_of(const std::vector<PortAddress>& local,
                              const std::vector<PortAddress>& remote, GidKind kind, int lane);

}  // namespace strait::verbs
