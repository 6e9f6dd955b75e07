// Which addresses of this host its peers should try, best first: the network interfaces, and the
// choice among them that STRAIT_SOCKET_IFNAME (NCCL_SOCKET_IFNAME) and STRAIT_SOCKET_FAMILY make.
// The choice is a pure function over a list of interfaces; read_interfaces() takes that list from
// the system. Any thread; called when a communicator is made.
#pragma once

#include <string>
#include <vector>

#include "base/status.hpp"
#include "transport/net/address.hpp"

namespace strait::net {

struct Interface {
  std::string name;
  Address address;  // without port
  bool up = true;
  bool carrier = true;  // the kernel may notice it up to a second after an interface came up
  bool loopback = false;
  bool tunnel = false;  // point to point: VPNs and the like
};

Result<std::vector<Interface>> read_interfaces();

// names: "" for the ranking below, or a comma list of prefixes ("eth,ib"); "=eth0" exact names;
// "^docker" or "^=docker0" all but those. Named interfaces come in the order of the list. family:
// any, AF_INET or AF_INET6. Ranking without names: networks, then bridges of containers and virtual
// machines; then one without a carrier, then loopback, each only where there is nothing better;
// tunnels and link-local addresses only when named. A choice that leaves nothing is an error that
// lists what there is.
Result<std::vector<Address>> choose_addresses(const std::vector<Interface>& interfaces,
                                              const std::string& names, const std::string& family);

}  // namespace strait::net
