#include "perf/launch/same_host.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>

namespace strait::perf {

Result<int> index_on_host(Launcher& launcher) {
  std::array<char, 64> mine{};
  ::gethostname(mine.data(), mine.size() - 1);
  STRAIT_ASSIGN(const std::vector<std::byte> all,
                launcher.all_gather(std::as_bytes(std::span(mine))));
  int before = 0;
  for (size_t process = 0; process < static_cast<size_t>(launcher.rank()); ++process) {
    const auto* name = reinterpret_cast<const char*>(all.data() + process * mine.size());
    before += std::equal(mine.begin(), mine.end(), name) ? 1 : 0;
  }
  return before;
}

}  // namespace strait::perf
