// Topologies as people type them: the short form ("2 racks x 4 ranks", "7+8") and the full one
// ("2 domains: 0-3 | 4-7"). Pure functions; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "topology/topology.hpp"

namespace strait::tool {

// Either form, with at least one rank.
Result<Topology> read_topology(std::string_view text);

// The short form; nullopt where the ranks of a domain do not follow one another.
std::optional<std::string> short_form(const Topology& topology);

}  // namespace strait::tool
