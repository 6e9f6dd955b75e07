#include <arpa/inet.h>

#include <algorithm>

#include "transport/verbs/port.hpp"

namespace strait::verbs {
namespace {

// NCCL's way to name ports, without rails and planes.
struct PortFilter {
  bool exclude = false;
  bool exact = false;
  std::vector<std::string> names;  // with or without ":port"

  static PortFilter parse(std::string_view text) {
    PortFilter filter;
    for (; text.starts_with('^') || text.starts_with('='); text.remove_prefix(1))
      (text.front() == '^' ? filter.exclude : filter.exact) = true;
    while (!text.empty()) {
      const size_t end = std::min(text.find(','), text.size());
      if (end > 0) filter.names.emplace_back(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return filter;
  }

  bool names_it(const Port& port, const std::string& name) const {
    const size_t colon = name.find(':');
    const std::string_view device = std::string_view(name).substr(0, colon);
    const bool fits = exact ? port.device == device : port.device.starts_with(device);
    if (!fits || colon == std::string::npos) return fits;
    const std::string_view number = std::string_view(name).substr(colon + 1);
    return number.substr(0, number.find(':')) == std::to_string(port.number);
  }

  bool lets_in(const Port& port) const {
    const bool named =
        std::ranges::any_of(names, [&](const std::string& name) { return names_it(port, name); });
    return names.empty() || named != exclude;
  }
};

bool fits(const Gid& gid, const PortWishes& wishes) {
  if (wishes.gid_index >= 0) return gid.index == wishes.gid_index;
  if (gid.kind == GidKind::kInfiniBand) return true;
  if (wishes.roce_version != 0 && (wishes.roce_version == 1) != (gid.kind == GidKind::kRoceV1))
    return false;
  if (gid.kind == GidKind::kRoceV1) return true;
  return wishes.family == "any" ||
         (wishes.family == "AF_INET") == (gid.kind == GidKind::kRoceV2Ip4);
}

// How many folders two places share: the longer, the fewer bridges lie between them.
size_t shared_depth(const std::string& a, const std::string& b) {
  size_t depth = 0;
  for (size_t i = 0; i <= std::min(a.size(), b.size()); ++i) {
    const bool a_ends = i == a.size() || a[i] == '/';
    const bool b_ends = i == b.size() || b[i] == '/';
    if (a_ends && b_ends) ++depth;
    if (i == a.size() || i == b.size() || a[i] != b[i]) break;
  }
  return depth;
}

void keep_nearest(std::vector<Port>& ports, const std::string& near) {
  if (near.empty()) return;
  size_t most = 0;
  for (const Port& port : ports) most = std::max(most, shared_depth(port.place, near));
  std::erase_if(ports, [&](const Port& port) { return shared_depth(port.place, near) < most; });
}

Status none_of(const std::vector<Port>& ports, const std::string& reasons,
               const PortWishes& wishes) {
  if (ports.empty()) return error(Code::kSystemError, "this host has no RDMA device");
  return error(Code::kSystemError, "no RDMA port of this host can be used: {}{}", reasons,
               wishes.names.empty() ? "" : "; see STRAIT_IB_HCA (NCCL_IB_HCA)");
}

}  // namespace

Distance distance(const std::string& a, const std::string& b) {
  constexpr size_t kRoot = 4;  // "", "sys", "devices", "pci0000:00"
  const size_t depth = shared_depth(a, b);
  if (a.empty() || b.empty() || depth > kRoot) return Distance::kSameBridge;
  return depth == kRoot ? Distance::kSameRoot : Distance::kFar;
}

Distance distance_of(const std::string& level) {
#if defined(__aarch64__)
  constexpr Distance kAuto = Distance::kFar;  // a Grace's GPU has a root of its own, and is near
#else
  constexpr Distance kAuto = Distance::kSameRoot;
#endif
  if (level == "auto") return kAuto;
  if (level == "SYS") return Distance::kFar;
  return level == "PHB" ? Distance::kSameRoot : Distance::kSameBridge;
}

std::string_view name_of(GidKind kind) {
  constexpr std::array<std::string_view, kGidKinds> kNames = {
      "RoCE v2 over IPv4", "RoCE v2 over IPv6", "RoCE v2 over link-local IPv6", "RoCE v1",
      "InfiniBand"};
  return kNames[static_cast<size_t>(kind)];
}

std::string Gid::text() const {
  char text[INET6_ADDRSTRLEN] = "";
  if (kind == GidKind::kRoceV2Ip4)
    inet_ntop(AF_INET, bytes.data() + 12, text, sizeof text);
  else
    inet_ntop(AF_INET6, bytes.data(), text, sizeof text);
  return text;
}

std::string Port::name() const {
  return fmt::format("{}:{}", device, number);
}

Result<std::vector<Port>> choose_ports(const std::vector<Port>& ports, const PortWishes& wishes) {
  const PortFilter filter = PortFilter::parse(wishes.names);
  std::vector<Port> chosen;
  std::string reasons;
  const auto refuse = [&](const Port& port, const std::string& why) {
    reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", port.name(), why);
  };
  for (Port port : ports) {
    std::erase_if(port.gids, [&](const Gid& gid) { return !fits(gid, wishes); });
    std::ranges::stable_sort(port.gids, {}, &Gid::kind);
    if (!filter.lets_in(port))
      refuse(port, "is not named");
    else if (!port.active())
      refuse(port, fmt::format("is {}", port.state.empty() ? "in no known state" : port.state));
    else if (port.gids.empty())
      refuse(port,
             wishes.gid_index < 0
                 ? "has no GID (an interface without an address?)"
                 : fmt::format("has no GID at index {} (STRAIT_IB_GID_INDEX)", wishes.gid_index));
    else
      chosen.push_back(std::move(port));
  }
  if (chosen.empty()) return none_of(ports, reasons, wishes);
  keep_nearest(chosen, wishes.near);
  return chosen;
}

}  // namespace strait::verbs
