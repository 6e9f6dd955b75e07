#include "perf/engine/bound.hpp"

#include <algorithm>
#include <map>

namespace strait::perf {
namespace {

struct Range {
  uint64_t first, end;
};

// Elements of the union.
uint64_t united(std::vector<Range> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return a.first < b.first; });
  uint64_t sum = 0, reached = 0;
  for (const Range& range : ranges) {
    const uint64_t first = std::max(range.first, reached);
    if (range.end > first) sum += range.end - first;
    reached = std::max(reached, range.end);
  }
  return sum;
}

// Who needs what of whom: by the rank it comes from (or kEveryRank), the ranges by the racks that
// receive them.
using Needs = std::map<int, std::map<int, std::vector<Range>>>;

Needs needs_of(const Collective& collective, Shape shape, const std::vector<int>& domain_of) {
  Needs needs;
  for (shape.rank = 0; shape.rank < shape.rank_count; ++shape.rank)
    for (const Piece& piece : collective.result(shape))
      needs[piece.from][domain_of[static_cast<size_t>(shape.rank)]].push_back(
          {piece.source_first, piece.source_first + piece.count});
  return needs;
}

class Crossing {
 public:
  explicit Crossing(int domain_count) : sent_(static_cast<size_t>(domain_count)) {}

  void move(int home, const std::map<int, std::vector<Range>>& by_domain) {
    std::vector<Range> elsewhere;
    for (const auto& [domain, ranges] : by_domain) {
      if (domain == home) continue;
      all_ += static_cast<double>(united(ranges));
      elsewhere.insert(elsewhere.end(), ranges.begin(), ranges.end());
    }
    sent_[static_cast<size_t>(home)] += static_cast<double>(united(std::move(elsewhere)));
  }

  void sum(const std::map<int, std::vector<Range>>& by_domain) {
    std::vector<Range> everywhere;
    for (const auto& [domain, ranges] : by_domain) {
      all_ += static_cast<double>(united(ranges));
      everywhere.insert(everywhere.end(), ranges.begin(), ranges.end());
    }
    const auto domains = static_cast<double>(sent_.size());
    all_ += (domains - 2) * static_cast<double>(united(std::move(everywhere)));
    for (size_t domain = 0; domain < sent_.size(); ++domain) {
      std::vector<Range> elsewhere;
      for (const auto& [receiver, ranges] : by_domain)
        if (receiver != static_cast<int>(domain))
          elsewhere.insert(elsewhere.end(), ranges.begin(), ranges.end());
      sent_[domain] += static_cast<double>(united(std::move(elsewhere)));
    }
  }

  double bound() const {
    return std::max(*std::max_element(sent_.begin(), sent_.end()),
                    all_ / static_cast<double>(sent_.size()));
  }

 private:
  std::vector<double> sent_;  // by rack: what it must send itself
  double all_ = 0;            // what somebody must send
};

}  // namespace

double elements_to_send(const Collective& collective, Shape shape,
                        const std::vector<int>& domain_of) {
  const int domain_count = *std::max_element(domain_of.begin(), domain_of.end()) + 1;
  if (domain_count < 2) return 0;
  Crossing crossing(domain_count);
  for (const auto& [from, by_domain] : needs_of(collective, shape, domain_of)) {
    if (from == Piece::kEveryRank)
      crossing.sum(by_domain);
    else
      crossing.move(domain_of[static_cast<size_t>(from)], by_domain);
  }
  return crossing.bound();
}

double bound_us(const BoundRule& rule, const Collective& collective, const Shape& shape,
                const std::vector<int>& domain_of) {
  if (rule.bytes_per_us <= 0) return 0;
  const double bytes =
      elements_to_send(collective, shape, domain_of) * static_cast<double>(shape.element_bytes);
  return bytes > 0 ? rule.latency_us + bytes / rule.bytes_per_us : 0;
}

}  // namespace strait::perf
