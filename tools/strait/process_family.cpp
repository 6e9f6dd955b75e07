#include "tools/strait/process_family.hpp"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

namespace strait::tool {
namespace {

constexpr int kFieldsToStart = 17;  // of the line, between the parent and the start

// "pid (name) state parent ... start ..."; the name may itself hold spaces and brackets.
std::optional<Process> read_process(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  const size_t open = line.find('(');
  const size_t close = line.rfind(')');
  if (open == std::string::npos || close == std::string::npos) return std::nullopt;
  Process process;
  process.pid = pid;
  process.name = line.substr(open + 1, close - open - 1);
  std::istringstream fields(line.substr(close + 1));
  std::string skipped;
  fields >> skipped >> process.parent;
  for (int i = 0; i < kFieldsToStart; ++i) fields >> skipped;
  fields >> process.started;
  if (!fields) return std::nullopt;
  return process;
}

std::vector<Process> all_processes() {
  std::vector<Process> all;
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", failure)) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (parsed.ec != std::errc() || parsed.ptr != name.data() + name.size()) continue;
    if (auto process = read_process(pid)) all.push_back(std::move(*process));
  }
  return all;
}

}  // namespace

std::vector<Process> family_of(pid_t eldest) {
  const std::vector<Process> all = all_processes();
  std::vector<Process> family;
  for (const Process& process : all)
    if (process.pid == eldest) family.push_back(process);
  for (size_t i = 0; i < family.size(); ++i)
    for (const Process& process : all)
      if (process.parent == family[i].pid) family.push_back(process);
  return family;
}

}  // namespace strait::tool
