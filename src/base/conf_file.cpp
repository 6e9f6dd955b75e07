#include "base/conf_file.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "base/log.hpp"

namespace strait {
namespace {

constexpr size_t kLineBytesMax = 4096;
constexpr size_t kNameBytesMax = 1024;
constexpr std::string_view kBlank = " \t\r";

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

// False: it cannot be read.
bool add_file(ConfFiles& files, const std::string& path) {
  std::ifstream file(path);
  if (!file) return false;
  files.add(std::string(std::istreambuf_iterator<char>(file), {}));
  return true;
}

}  // namespace

ConfFiles ConfFiles::read(const char* named, const char* home, const std::string& machine_path) {
  ConfFiles files;
  if (named != nullptr && *named != '\0') {
    if (!add_file(files, named))
      log_warn("the file {} that NCCL_CONF_FILE names cannot be read and is ignored", named);
  } else if (home != nullptr) {
    // Few have one.
    [[maybe_unused]] const bool there = add_file(files, std::string(home) + "/.nccl.conf");
  }
  [[maybe_unused]] const bool there = add_file(files, machine_path);
  return files;
}

void ConfFiles::add(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const size_t equals = line.find('=');
    if (line.size() > kLineBytesMax || equals == std::string_view::npos) continue;
    const std::string_view name = trimmed(line.substr(0, equals));
    if (name.empty() || name.front() == '#' || name.size() > kNameBytesMax) continue;
    values_.emplace(name, trimmed(line.substr(equals + 1)));
  }
}

const char* ConfFiles::find(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : found->second.c_str();
}

}  // namespace strait
