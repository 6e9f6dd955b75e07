#include <dirent.h>
#include <stdlib.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <memory>

#include "transport/verbs/port.hpp"

namespace strait::verbs {
namespace {

constexpr int kGidsMax = 256;

// The names below a folder, in the order of people.
std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(folder.c_str()), closedir);
  while (const dirent* entry = directory ? readdir(directory.get()) : nullptr)
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  std::ranges::sort(names, [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  return names;
}

// The first line; empty where the file cannot be read, as with the type of a GID that is not set.
std::string line_of(const std::string& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

// The number that a text begins with, behind a prefix that says it is hexadecimal; 0 without one.
template <class Number>
Number number_in(std::string_view text, std::string_view prefix = "") {
  Number number{};
  if (!text.starts_with(prefix)) return number;
  text.remove_prefix(prefix.size());
  if constexpr (std::is_floating_point_v<Number>)
    std::from_chars(text.data(), text.data() + text.size(), number);
  else
    std::from_chars(text.data(), text.data() + text.size(), number, prefix.empty() ? 10 : 16);
  return number;
}

bool parse_gid(const std::string& text, GidBytes* bytes) {
  size_t count = 0;
  for (size_t i = 0; i < text.size() && count < bytes->size();) {
    if (text[i] == ':') {
      ++i;
      continue;
    }
    const char* const begin = text.data() + i;
    if (i + 2 > text.size() ||
        std::from_chars(begin, begin + 2, (*bytes)[count], 16).ptr != begin + 2)
      return false;
    ++count;
    i += 2;
  }
  return count == bytes->size();
}

GidKind kind_of(const GidBytes& bytes, bool ethernet, const std::string& type) {
  constexpr std::array<uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (!ethernet) return GidKind::kInfiniBand;
  if (type != "RoCE v2") return GidKind::kRoceV1;
  if (std::equal(kMapped.begin(), kMapped.end(), bytes.begin())) return GidKind::kRoceV2Ip4;
  return bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80 ? GidKind::kRoceV2Local
                                                       : GidKind::kRoceV2Ip6;
}

std::vector<Gid> read_gids(const std::string& folder, bool ethernet) {
  std::vector<Gid> gids;
  for (int index = 0; index < kGidsMax; ++index) {
    const std::string text = line_of(fmt::format("{}/gids/{}", folder, index));
    if (text.empty()) break;
    Gid gid{.index = static_cast<uint16_t>(index)};
    if (!parse_gid(text, &gid.bytes) || gid.bytes == GidBytes{}) continue;
    gid.kind =
        kind_of(gid.bytes, ethernet, line_of(fmt::format("{}/gid_attrs/types/{}", folder, index)));
    gids.push_back(gid);
  }
  return gids;
}

std::string place_of(const std::string& device) {
  const std::unique_ptr<char, void (*)(void*)> path(realpath(device.c_str(), nullptr), free);
  const std::string real = path ? path.get() : device;
  return real.substr(0, real.find("/infiniband/"));
}

}  // namespace

std::vector<Port> read_ports(const std::string& folder) {
  std::vector<Port> ports;
  for (const std::string& device : names_in(folder)) {
    const std::string home = folder + "/" + device;
    for (const std::string& number : names_in(home + "/ports")) {
      const std::string port_home = home + "/ports/" + number;
      Port port;
      port.device = device;
      port.number = number_in<int>(number);
      port.place = place_of(home);
      port.ethernet = line_of(port_home + "/link_layer") == "Ethernet";
      const std::string state = line_of(port_home + "/state");  // "4: ACTIVE"
      port.state = state.substr(std::min(state.find(": ") + 2, state.size()));
      // iWARP and others connect in ways of their own.
      const std::string type = line_of(home + "/node_type");
      if (!type.empty() && type != "1: CA") port.state = "no channel adapter (" + type + ")";
      port.gigabits = number_in<double>(line_of(port_home + "/rate"));
      port.lid = number_in<uint16_t>(line_of(port_home + "/lid"), "0x");
      port.gids = read_gids(port_home, port.ethernet);
      ports.push_back(std::move(port));
    }
  }
  return ports;
}

}  // namespace strait::verbs
