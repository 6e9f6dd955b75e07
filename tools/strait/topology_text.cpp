#include "tools/strait/topology_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace strait::tool {

Result<Topology> read_topology(std::string_view text) {
  const bool full = text.find(':') != std::string_view::npos;
  auto topology = full ? parse_topology(text) : synthetic(text);
  if (!topology.ok())
    return error(Code::kInvalidArgument,
                 "{}; write \"2 racks x 4 ranks\", \"7+8\" or \"2 domains: "
                 "0-3 | 4-7\"",
                 topology.status().message());
  if (topology->rank_count() == 0)
    return error(Code::kInvalidArgument, "topology '{}': it has no ranks; give at least one", text);
  return topology;
}

std::optional<std::string> short_form(const Topology& topology) {
  if (!std::is_sorted(topology.domain_of.begin(), topology.domain_of.end())) return std::nullopt;
  std::vector<int> sizes(static_cast<size_t>(topology.domain_count()));
  for (const int domain : topology.domain_of) ++sizes[static_cast<size_t>(domain)];
  const bool equal =
      std::all_of(sizes.begin(), sizes.end(), [&](int size) { return size == sizes.front(); });
  if (!equal) return fmt::format("{}", fmt::join(sizes, "+"));
  return fmt::format("{} rack{} x {} rank{}", sizes.size(), sizes.size() == 1 ? "" : "s",
                     sizes.front(), sizes.front() == 1 ? "" : "s");
}

}  // namespace strait::tool
