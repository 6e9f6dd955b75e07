#include "tools/strait/mapped_nccl.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <set>

namespace strait::tool {
namespace {

constexpr std::string_view kDeleted = " (deleted)";

// Files mapped to be executed: every library has such a part.
std::set<std::string> mapped_files(pid_t pid) {
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  std::set<std::string> files;
  for (std::string line; std::getline(maps, line);) {
    const size_t permissions = line.find(' ') + 1;
    const size_t path = line.find('/');
    if (path == line.npos || permissions + 2 >= line.size() || line[permissions + 2] != 'x')
      continue;
    std::string file = line.substr(path);
    if (file.ends_with(kDeleted)) file.resize(file.size() - kDeleted.size());
    files.insert(std::move(file));
  }
  return files;
}

}  // namespace

Nccl MappedNccl::kind_of(const std::string& path) {
  const auto [entry, is_new] = known_.try_emplace(path, Nccl::kAbsent);
  if (is_new)
    if (const auto elf = read_elf(path)) entry->second = elf->nccl;
  return entry->second;
}

NcclOfProcess MappedNccl::look(pid_t pid) {
  NcclOfProcess found;
  for (const std::string& file : mapped_files(pid)) {
    std::error_code failure;
    if (file == our_library_ ||
        (is_libnccl_name(file) && std::filesystem::equivalent(file, our_library_, failure)))
      found.ours = true;
    else if (const Nccl kind = kind_of(file); kind == Nccl::kLibrary)
      found.foreign.push_back(file);
    else if (kind == Nccl::kInside)
      found.inside.push_back(file);
  }
  return found;
}

std::string NcclOfProcess::complaint(const std::string& our_library) const {
  if (!inside.empty())
    return fmt::format(
        "has NCCL linked statically in {}, where {} cannot take its place; use a build that is "
        "linked against libnccl.so",
        fmt::join(inside, " and "), our_library);
  if (ours)
    return fmt::format(
        "has loaded {} by its path, besides {}, and calls may go to either; make that path a "
        "symbolic link to ours, or name ours where it is configured",
        fmt::join(foreign, " and "), our_library);
  return fmt::format(
      "has loaded {} and not {}: LD_PRELOAD did not reach it; start this process itself with "
      "strait exec",
      fmt::join(foreign, " and "), our_library);
}

}  // namespace strait::tool
