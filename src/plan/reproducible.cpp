#include "plan/reproducible.hpp"

#include <algorithm>
#include <vector>

#include "plan/planners.hpp"

namespace strait {
namespace {

// Up to here everyone adds up directly, on hosts as on GPUs: the order may not depend on what the
// ranks sit on. All of an NVLink domain.
constexpr int kRankOrderMax = 72;
constexpr int kDomainsMax = 16;

constexpr AlgorithmSet set_of(std::initializer_list<Algorithm> algorithms) {
  AlgorithmSet set{.bits = 0};
  for (const Algorithm algorithm : algorithms)
    set.bits = static_cast<uint8_t>(set.bits | 1U << static_cast<unsigned>(algorithm));
  return set;
}

constexpr AlgorithmSet kTreeOrder = set_of({Algorithm::kTree});
constexpr AlgorithmSet kLevelOrder = set_of({Algorithm::kHierarchical});
constexpr AlgorithmSet kRankOrder =
    set_of({Algorithm::kOneShot, Algorithm::kTwoShot, Algorithm::kDirect});
constexpr AlgorithmSet kRankOrderInOneDomain = set_of(
    {Algorithm::kOneShot, Algorithm::kTwoShot, Algorithm::kDirect, Algorithm::kHierarchical});

// Best first; by what does not depend on the size.
std::vector<AlgorithmSet> orders(const Topology& topology, Reproducible wish) {
  const bool one_domain = topology.domain_count() == 1;
  const AlgorithmSet rank_order = one_domain ? kRankOrderInOneDomain : kRankOrder;
  const bool fits = topology.rank_count() <= kRankOrderMax;
  if (wish == Reproducible::kWhateverPlacement || one_domain)
    return fits ? std::vector{rank_order, kTreeOrder} : std::vector{kTreeOrder, rank_order};
  int largest = 0;
  for (int domain = 0; domain < topology.domain_count(); ++domain)
    largest = std::max(largest, static_cast<int>(topology.ranks_of(domain).size()));
  if (largest <= kRankOrderMax && topology.domain_count() <= kDomainsMax)
    return {kLevelOrder, rank_order, kTreeOrder};
  return {kTreeOrder, rank_order, kLevelOrder};
}

bool has_any(Collective collective, AlgorithmSet set) {
  return std::ranges::any_of(planner_rows(), [&](const PlannerRow& row) {
    return row.collective == collective && set.holds(row.algorithm);
  });
}

}  // namespace

Reproducible reproducible_of(const Request& request, const Config& config) {
  const bool adds = request.collective == Collective::kAllReduce ||
                    request.collective == Collective::kReduce ||
                    request.collective == Collective::kReduceScatter;
  if (!adds || !is_float(request.type)) return Reproducible::kOnLayout;
  if (config.reproducible == "size") return Reproducible::kWhateverSize;
  return config.reproducible == "placement" ? Reproducible::kWhateverPlacement
                                            : Reproducible::kOnLayout;
}

AlgorithmSet steady_algorithms(Collective collective, const Topology& topology, Reproducible wish,
                               AlgorithmSet allowed) {
  const std::vector<AlgorithmSet> known = orders(topology, wish);
  for (const AlgorithmSet order : known) {
    const AlgorithmSet both{.bits = static_cast<uint8_t>(order.bits & allowed.bits)};
    if (has_any(collective, both)) return both;
  }
  for (const AlgorithmSet order : known)
    if (has_any(collective, order)) return order;
  return known.front();
}

}  // namespace strait
