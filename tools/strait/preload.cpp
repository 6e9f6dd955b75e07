#include "tools/strait/preload.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "tools/strait/elf_file.hpp"

namespace strait::tool {
namespace {

constexpr std::string_view kPreload = "LD_PRELOAD";
constexpr std::string_view kFolders = "LD_LIBRARY_PATH";
constexpr std::string_view kModules = "LD_AUDIT";
constexpr std::string_view kPathSuffix = "NCCL_SO_PATH";
constexpr std::array<std::string_view, 2> kPathsAlways = {"VLLM_NCCL_SO_PATH",
                                                          "SGLANG_NCCL_SO_PATH"};

// `first`, then what of the list is neither it nor unwanted.
template <class Unwanted>
std::string put_first(const std::string& first, std::string_view list, std::string_view separators,
                      Unwanted unwanted) {
  std::string joined = first;
  while (!list.empty()) {
    const size_t end = std::min(list.find_first_of(separators), list.size());
    const std::string_view entry = list.substr(0, end);
    if (!entry.empty() && entry != first && !unwanted(entry))
      joined.append(joined.empty() ? "" : ":").append(entry);
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return joined;
}

std::string entry_of(std::string_view name, const std::string& value) {
  return std::string(name).append("=").append(value);
}

}  // namespace

std::vector<std::string> environment_with(const Replacement& replacement,
                                          const std::vector<std::string>& environment) {
  const std::string& library = replacement.library;
  std::vector<std::string> made;
  std::map<std::string_view, std::string_view> lists = {
      {kPreload, ""}, {kFolders, ""}, {kModules, ""}};
  for (const std::string& entry : environment) {
    const size_t equals = std::min(entry.find('='), entry.size());
    const std::string_view name = std::string_view(entry).substr(0, equals);
    const auto list = lists.find(name);
    if (list != lists.end())
      list->second = std::string_view(entry).substr(std::min(equals + 1, entry.size()));
    else if (!name.ends_with(kPathSuffix))
      made.push_back(entry);
    else if (name != kPathsAlways[0] && name != kPathsAlways[1])
      made.push_back(entry_of(name, library));
  }
  const auto any = [](std::string_view) { return false; };
  const std::string folder = library.substr(0, library.rfind('/'));
  for (const std::string_view name : kPathsAlways) made.push_back(entry_of(name, library));
  made.push_back(entry_of(kPreload, put_first(library, lists[kPreload], " :", is_libnccl_name)));
  made.push_back(entry_of(kFolders, put_first(folder, lists[kFolders], ":;", any)));
  const std::string modules = put_first(replacement.loader_module, lists[kModules], ":", any);
  if (!modules.empty()) made.push_back(entry_of(kModules, modules));
  return made;
}

Status check_listable(const std::string& path) {
  if (path.find_first_of(" :;$") == std::string::npos) return {};
  return error(Code::kInvalidArgument,
               "the loader cannot be given {}: its path has a space, colon, semicolon or dollar "
               "sign; put it somewhere else",
               path);
}

}  // namespace strait::tool
