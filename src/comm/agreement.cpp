#include "comm/agreement.hpp"

#include <unistd.h>

#include <algorithm>
#include <set>

namespace strait {
namespace {

constexpr size_t kListedMax = 16;

std::string value_of(const Hello& hello, const std::string& key) {
  const auto found = hello.settings.find(key);
  if (found == hello.settings.end()) return "unknown";
  return found->second.empty() ? "empty" : found->second;
}

}  // namespace

Hello make_hello(std::string version, std::map<std::string, std::string> settings) {
  char name[256] = "?";
  if (gethostname(name, sizeof name - 1) != 0) name[0] = '?';
  return {.version = std::move(version),
          .settings = std::move(settings),
          .host = name,
          .pid = getpid(),
          .payload = {}};
}

std::string name_rank(int rank, const Hello& hello) {
  return fmt::format("rank {} (host {}, process {})", rank, hello.host, hello.pid);
}

Status check_agreement(int first_rank, const Hello& first, int second_rank, const Hello& second) {
  const std::string names =
      fmt::format("{} and {}", name_rank(first_rank, first), name_rank(second_rank, second));
  if (first.version != second.version)
    return error(Code::kInvalidUsage,
                 "{} run different versions of the library, {} and {}; install one version on "
                 "all hosts",
                 names, first.version, second.version);
  std::set<std::string> keys;
  for (const auto& [key, value] : first.settings) keys.insert(key);
  for (const auto& [key, value] : second.settings) keys.insert(key);
  std::string differences;
  for (const std::string& key : keys) {
    const std::string ours = value_of(first, key);
    const std::string theirs = value_of(second, key);
    if (ours != theirs)
      differences += fmt::format("{}STRAIT_{} is {} and {}", differences.empty() ? "" : ", ", key,
                                 ours, theirs);
  }
  if (differences.empty()) return Status();
  return error(Code::kInvalidUsage, "{} have different settings: {}; set the same on all ranks",
               names, differences);
}

std::string list_ranks(const std::vector<int>& ranks, int rank_count) {
  std::string result = ranks.size() == 1 ? "rank " : "ranks ";
  const size_t listed = std::min(ranks.size(), kListedMax);
  for (size_t i = 0; i < listed; ++i) result += fmt::format("{}{}", i == 0 ? "" : ", ", ranks[i]);
  if (ranks.size() > listed) result += fmt::format(" and {} more", ranks.size() - listed);
  return result + fmt::format(" of {}", rank_count);
}

}  // namespace strait
