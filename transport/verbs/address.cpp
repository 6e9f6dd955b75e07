#include "transport/verbs/address.hpp"

#include <charconv>

namespace strait::verbs {
namespace {

constexpr size_t kListenersMax = 16;
constexpr size_t kPortsMax = 32;
constexpr size_t kGidsMax = 8;

// The text up to the separator, which is taken off too.
std::string_view take(std::string_view& text, char separator) {
  const size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

template <class Number>
bool read_number(std::string_view text, unsigned low, unsigned high, Number* number,
                 int base = 10) {
  unsigned value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (read.ec != std::errc{} || read.ptr != text.data() + text.size()) return false;
  *number = static_cast<Number>(value);
  return value >= low && value <= high;
}

bool parse_gid(std::string_view text, bool ethernet, Gid* gid) {
  unsigned kind = 0;
  if (!read_number(take(text, '.'), 0, kGidKinds - 1, &kind)) return false;
  gid->kind = static_cast<GidKind>(kind);
  if ((gid->kind == GidKind::kInfiniBand) == ethernet) return false;
  if (text.size() != 2 * gid->bytes.size()) return false;
  for (size_t i = 0; i < gid->bytes.size(); ++i)
    if (!read_number(text.substr(2 * i, 2), 0, 255, &gid->bytes[i], 16)) return false;
  return true;
}

bool parse_port(std::string_view text, PortAddress* port) {
  const std::string_view kind = take(text, ';');
  port->ethernet = kind == "eth";
  if (!port->ethernet && kind != "ib") return false;
  if (!read_number(take(text, ';'), 1, 5, &port->mtu)) return false;
  if (!read_number(take(text, ';'), 0, 0xffff, &port->lid)) return false;
  while (!text.empty() && port->gids.size() < kGidsMax)
    if (!parse_gid(take(text, ','), port->ethernet, &port->gids.emplace_back())) return false;
  return text.empty() && !port->gids.empty();
}

// The place of the GID of that kind in each port that has one.
std::vector<PortGid> having(const std::vector<PortAddress>& ports, GidKind kind) {
  std::vector<PortGid> result;
  for (size_t port = 0; port < ports.size(); ++port)
    for (size_t gid = 0; gid < ports[port].gids.size(); ++gid)
      if (ports[port].gids[gid].kind == kind) {
        result.push_back({static_cast<uint8_t>(port), static_cast<uint8_t>(gid)});
        break;
      }
  return result;
}

}  // namespace

std::string format(const RankAddress& address) {
  std::string text = net::text_of(address.listener);
  for (size_t p = 0; p < std::min(address.ports.size(), kPortsMax); ++p) {
    const PortAddress& port = address.ports[p];
    text += fmt::format("|{};{};{};", port.ethernet ? "eth" : "ib", port.mtu, port.lid);
    for (size_t g = 0; g < std::min(port.gids.size(), kGidsMax); ++g) {
      text += fmt::format("{}{}.", g == 0 ? "" : ",", static_cast<int>(port.gids[g].kind));
      for (const uint8_t byte : port.gids[g].bytes) text += fmt::format("{:02x}", byte);
    }
  }
  return text;
}

std::optional<RankAddress> parse_address(std::string_view text) {
  RankAddress address;
  address.listener = net::parse_addresses(take(text, '|'), kListenersMax);
  if (address.listener.empty()) return std::nullopt;
  while (!text.empty()) {
    if (address.ports.size() == kPortsMax) return std::nullopt;
    if (!parse_port(take(text, '|'), &address.ports.emplace_back())) return std::nullopt;
  }
  return address;
}

std::optional<Route> route_of(const std::vector<PortAddress>& local,
                              const std::vector<PortAddress>& remote, GidKind kind, int lane) {
  const std::vector<PortGid> mine = having(local, kind);
  const std::vector<PortGid> theirs = having(remote, kind);
  if (mine.empty() || theirs.empty()) return std::nullopt;
  const size_t place = static_cast<size_t>(lane) % mine.size();
  return Route{mine[place], theirs[place % theirs.size()]};
}

}  // namespace strait::verbs
