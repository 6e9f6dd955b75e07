#include "transport/net/interfaces.hpp"

#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

#include "transport/net/reach.hpp"

namespace strait::net {
namespace {

constexpr std::array<std::string_view, 9> kBridgePrefixes = {
    "docker", "br-", "veth", "virbr", "cni", "flannel", "cali", "lxc", "podman"};
constexpr std::array<std::string_view, 6> kTunnelPrefixes = {"tun",  "tap", "wg",
                                                             "utun", "sit", "ipip"};

template <size_t count>
bool has_prefix(const std::string& name, const std::array<std::string_view, count>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

struct NameFilter {
  bool exclude = false;
  bool exact = false;
  std::vector<std::string> names;

  static NameFilter parse(std::string_view text) {
    NameFilter filter;
    if (text.starts_with('^')) {
      filter.exclude = true;
      text.remove_prefix(1);
    }
    if (text.starts_with('=')) {
      filter.exact = true;
      text.remove_prefix(1);
    }
    while (!text.empty()) {
      const size_t comma = std::min(text.find(','), text.size());
      // NCCL's users also write an address family or port after a colon; the name ends there.
      const std::string_view name = text.substr(0, std::min(comma, text.find(':')));
      if (!name.empty()) filter.names.emplace_back(name);
      text.remove_prefix(std::min(comma + 1, text.size()));
    }
    return filter;
  }

  // The place in the list of the entry that matches, or its size.
  size_t place(const std::string& name) const {
    const auto found = std::find_if(names.begin(), names.end(), [&](const std::string& entry) {
      return exact ? name == entry : name.starts_with(entry);
    });
    return static_cast<size_t>(found - names.begin());
  }
};

bool family_fits(const Address& address, const std::string& family) {
  return family == "any" || family.empty() ||
         address.family == (family == "AF_INET" ? AF_INET : AF_INET6);
}

// Lower is better; from here on only where there is nothing better.
constexpr size_t kLastResort = 2;
size_t rank_of(const Interface& interface) {
  if (interface.loopback || interface.address.loopback()) return 3;
  if (!interface.carrier) return kLastResort;
  return has_prefix(interface.name, kBridgePrefixes) ? 1 : 0;
}

bool only_when_named(const Interface& interface) {
  return interface.tunnel || interface.address.link_local() ||
         has_prefix(interface.name, kTunnelPrefixes);
}

Status nothing_left(const std::vector<Interface>& interfaces, const std::string& names,
                    const std::string& family) {
  std::string found;
  for (const Interface& interface : interfaces)
    found +=
        fmt::format("{}{} {}", found.empty() ? "" : ", ", interface.name, interface.address.text());
  if (found.empty()) found = "none";
  if (names.empty())
    return error(Code::kSystemError,
                 "no network interface of this host has an address of the family {} "
                 "(STRAIT_SOCKET_FAMILY); found: {}",
                 family, found);
  return error(Code::kInvalidUsage,
               "STRAIT_SOCKET_IFNAME (NCCL_SOCKET_IFNAME) is '{}', which leaves no interface with "
               "an address of the family {}; found: {}",
               names, family, found);
}

}  // namespace

Result<std::vector<Interface>> read_interfaces() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return system_error("the network interfaces cannot be listed");
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, freeifaddrs);
  std::vector<Interface> result;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr) continue;
    const auto address = Address::from(entry->ifa_addr);
    if (!address || !within_reach(*address)) continue;
    const unsigned flags = entry->ifa_flags;
    result.push_back({.name = entry->ifa_name,
                      .address = address->with_port(0),
                      .up = (flags & IFF_UP) != 0,
                      .carrier = (flags & IFF_RUNNING) != 0,
                      .loopback = (flags & IFF_LOOPBACK) != 0,
                      .tunnel = (flags & IFF_POINTOPOINT) != 0});
  }
  return result;
}

Result<std::vector<Address>> choose_addresses(const std::vector<Interface>& interfaces,
                                              const std::string& names, const std::string& family) {
  const NameFilter filter = NameFilter::parse(names);
  const bool named = !filter.names.empty() && !filter.exclude;
  std::vector<std::pair<size_t, const Interface*>> ranked;
  for (const Interface& interface : interfaces) {
    if (!interface.up || !family_fits(interface.address, family)) continue;
    const size_t place = filter.place(interface.name);
    const bool listed = place < filter.names.size();
    if (named ? !listed : listed || only_when_named(interface)) continue;
    ranked.emplace_back(named ? place : rank_of(interface), &interface);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Address> result;
  for (const auto& [rank, interface] : ranked) {
    // Whoever has a network address is not reached by loopback: another host would find itself.
    if (!named && rank >= kLastResort && rank > ranked.front().first) break;
    result.push_back(interface->address);
  }
  if (result.empty()) return nothing_left(interfaces, names, family);
  return result;
}

}  // namespace strait::net
