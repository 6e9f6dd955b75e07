// Topology: which ranks sit in which domain (an NVLink domain, a rack, or one host). A value:
// compares, prints, parses; any thread. Nothing here looks at a machine (discover.hpp does).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace strait {

struct Topology {
  std::vector<int> domain_of;  // by rank; domains are numbered from 0 in order of their first rank

  int rank_count() const { return static_cast<int>(domain_of.size()); }
  int domain_count() const;
  std::vector<int> ranks_of(int domain) const;  // ascending
  bool same_domain(int a, int b) const { return domain_of[a] == domain_of[b]; }
  bool operator==(const Topology&) const = default;

  static Topology flat(int rank_count);                            // one domain
  static Topology of_sizes(const std::vector<int>& domain_sizes);  // consecutive ranks
  static Topology from_names(
      const std::vector<std::string>& domain_names);  // by rank; equal name, same domain
};

std::string format(const Topology& topology);              // "2 domains: 0-3 | 4-7"
Result<Topology> parse_topology(std::string_view text);    // the inverse of format
Result<Topology> synthetic(std::string_view description);  // "2 racks x 4 ranks", "7+8"

}  // namespace strait
