#include "tools/strait/settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/config.hpp"

namespace strait::tool {
namespace {

const std::string kPrefix = "STRAIT_";

bool is_set(const std::string& name) {
  const char* const value = name.empty() ? nullptr : std::getenv(name.c_str());
  return value != nullptr && *value != '\0';
}

void print(const SettingRow& row) {
  const std::string name = kPrefix + row.name;
  const std::string alias = row.alias;
  const std::string range = *row.range != '\0' ? row.range : "text";
  fmt::print("{} = {}   [{}]{}\n", name, *row.initial != '\0' ? row.initial : "(empty)", range,
             alias.empty() ? "" : "   or " + alias);
  fmt::print("    {}{}\n", row.help, row.agreed ? "; the same on all ranks" : "");
  const std::string& source = is_set(name) ? name : alias;
  if (is_set(source)) fmt::print("    now: {}={}\n", source, std::getenv(source.c_str()));
}

// Rows by name, in the order of the names; an unknown one is told with the nearest.
Result<std::vector<SettingRow>> find(const std::vector<std::string>& names) {
  std::vector<SettingRow> found;
  for (const std::string& name : names) {
    const std::string bare = name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name;
    const auto& rows = setting_rows();
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const SettingRow& each) {
      return bare == each.name || name == each.alias;
    });
    if (row == rows.end()) {
      std::string entry = kPrefix + bare + "=";
      char* environment[] = {entry.data(), nullptr};
      return error(Code::kInvalidArgument, "{}", fmt::join(unknown_settings(environment), "; "));
    }
    found.push_back(*row);
  }
  return found;
}

}  // namespace

Status show_settings(const std::vector<std::string>& names) {
  STRAIT_ASSIGN(const std::vector<SettingRow> found, find(names));
  if (names.empty())
    fmt::print("# setting = default   [values]   or NCCL's name, read when ours is unset\n");
  for (const SettingRow& row : names.empty() ? setting_rows() : found) print(row);
  if (const auto config = Config::from_environment(); !config.ok()) return config.status();
  if (const auto unknown = unknown_settings(environ); !unknown.empty())
    return error(Code::kInvalidArgument, "{}", fmt::join(unknown, "; "));
  return {};
}

}  // namespace strait::tool
