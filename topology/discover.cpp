#include "topology/discover.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>

namespace strait {
namespace {

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

SystemView read_system_view() {
  SystemView view;
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) == 0) view.host_name = name.data();
  view.boot_id = first_line("/proc/sys/kernel/random/boot_id");
  struct stat found = {};
  if (stat("/proc/self/ns/net", &found) == 0) view.network_namespace = found.st_ino;
  return view;
}

std::string host_identity(const SystemView& view, const std::string& override_text) {
  if (!override_text.empty()) return override_text;
  return fmt::format("{}/{}/{}", view.host_name, view.boot_id, view.network_namespace);
}

std::string domain_name(const DomainSettings& settings, const std::string& host, int rank) {
  if (settings.emulate_domains > 0)
    return fmt::format("emulated-{}", rank / settings.emulate_domains);
  if (!settings.domain.empty()) return "named-" + settings.domain;
  if (!settings.fabric.empty()) return "nvlink-" + settings.fabric;
  return "host-" + host;
}

}  // namespace strait
