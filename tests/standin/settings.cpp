#include "standin/settings.hpp"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "base/check.hpp"
#include "base/units.hpp"

namespace strait::standin {
namespace {

std::string text_of(const char* name) {
  const char* const value = std::getenv((std::string("STRAIT_STANDIN_") + name).c_str());
  return value == nullptr ? "" : value;
}

int64_t number_of(const char* name, int64_t otherwise) {
  const std::string text = text_of(name);
  if (text.empty()) return otherwise;
  const Result<int64_t> value = parse_size(text);
  STRAIT_CHECK(value.ok(), "a number of the stand-in's environment is a number");
  return *value;
}

// Takes the text up to the next slash.
std::string_view next_part(std::string_view& text) {
  const std::string_view part = text.substr(0, text.find('/'));
  text.remove_prefix(part.size() == text.size() ? part.size() : part.size() + 1);
  return part;
}

unsigned parse_unsigned(std::string_view text, int base, unsigned otherwise) {
  unsigned value = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), value, base);
  return value;
}

}  // namespace

Fabric parse_fabric(const std::string& text) {
  Fabric fabric;
  if (text.empty()) return fabric;
  std::string_view rest = text;
  const std::string_view cluster = next_part(rest);
  for (size_t i = 0; i < fabric.cluster.size() && 2 * i < cluster.size(); ++i)
    fabric.cluster[i] = static_cast<unsigned char>(parse_unsigned(cluster.substr(2 * i, 2), 16, 0));
  fabric.clique = parse_unsigned(next_part(rest), 10, 0);
  fabric.state = static_cast<unsigned char>(parse_unsigned(next_part(rest), 10, 3));
  fabric.there = fabric.state == 3;
  return fabric;
}

Settings Settings::from_environment() {
  Settings settings;
  settings.devices = static_cast<int>(number_of("DEVICES", settings.devices));
  settings.memory_bytes =
      static_cast<uint64_t>(number_of("MEMORY", static_cast<int64_t>(settings.memory_bytes)));
  settings.multiprocessors = static_cast<int>(number_of("SMS", settings.multiprocessors));
  settings.version = static_cast<int>(number_of("VERSION", settings.version));
  settings.peer = number_of("PEER", 1) != 0;
  settings.vmm = number_of("VMM", 1) != 0;
  settings.descriptors = number_of("FD", 1) != 0;
  settings.imex = number_of("IMEX", 1) != 0;
  settings.rdma = number_of("RDMA", 0) != 0;
  settings.guard = number_of("GUARD", 0) != 0;
  settings.kernel_ms = number_of("KERNEL_MS", settings.kernel_ms);
  settings.fabric = parse_fabric(text_of("FABRIC"));
  settings.faults = text_of("FAIL");
  return settings;
}

}  // namespace strait::standin
