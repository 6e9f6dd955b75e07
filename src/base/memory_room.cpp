#include "base/memory_room.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

#include "base/units.hpp"

namespace strait {
namespace {

std::optional<uint64_t> parse_number(const std::string& text) {
  uint64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

// The word after `key` in a file of "key value" lines; with an empty key the first word of the
// file.
std::optional<uint64_t> number_in(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  std::string word;
  if (key.empty()) return file >> word ? parse_number(word) : std::nullopt;
  while (file >> word)
    if (word == key) return file >> word ? parse_number(word) : std::nullopt;
  return std::nullopt;
}

struct CgroupFiles {
  std::string folder;  // below root
  const char* limit;
  const char* used;
};

// What one control group still allows. File pages it could drop at once do not count as used.
std::optional<uint64_t> left_in(const std::string& folder, const CgroupFiles& files) {
  const auto limit = number_in(folder + "/" + files.limit, "");
  const auto used = number_in(folder + "/" + files.used, "");
  if (!limit || !used) return std::nullopt;
  const uint64_t droppable = number_in(folder + "/memory.stat", "inactive_file").value_or(0);
  const uint64_t held = *used - std::min(*used, droppable);
  return *limit - std::min(*limit, held);
}

// The tightest of a control group and all groups around it. In a container the path may name a
// folder of the host that is not mounted here; the walk then still ends at the container's own
// group.
std::optional<uint64_t> tightest(const CgroupFiles& files, std::string path) {
  std::optional<uint64_t> least;
  while (true) {
    if (const auto left = left_in(files.folder + path, files))
      least = std::min(*left, least.value_or(*left));
    if (path.empty() || path == "/") return least;
    path.erase(path.rfind('/'));
  }
}

}  // namespace

MemoryRoom memory_room(const std::string& root) {
  MemoryRoom room;
  if (const auto kib = number_in(root + "/proc/meminfo", "MemAvailable:"))
    room.machine_bytes = *kib * 1024;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    // "0::/path" is version 2; "4:memory:/path" names a controller of version 1.
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    std::optional<uint64_t> left;
    if (controllers == ",,")
      left = tightest({root + "/sys/fs/cgroup", "memory.max", "memory.current"}, path);
    else if (controllers.find(",memory,") != std::string::npos)
      left = tightest(
          {root + "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"}, path);
    if (left) room.cgroup_bytes = std::min(*left, room.cgroup_bytes.value_or(*left));
  }
  return room;
}

Status fits(const MemoryRoom& room, uint64_t need_bytes, const std::string& purpose) {
  const auto short_of = [&](const std::optional<uint64_t>& have) {
    return have.has_value() && *have < need_bytes;
  };
  const bool machine = short_of(room.machine_bytes);
  if (!machine && !short_of(room.cgroup_bytes)) return Status();
  return error(
      Code::kSystemError,
      "{} needs {} of memory but {} {} free; lower STRAIT_SLOTS or STRAIT_SLOT_BYTES, or {}",
      purpose, format_bytes(need_bytes),
      machine ? "this host has" : "the control group of this process has",
      format_bytes(machine ? *room.machine_bytes : *room.cgroup_bytes),
      machine ? "run fewer ranks on it" : "raise its memory limit");
}

}  // namespace strait
