#include "plan/algorithms/levels.hpp"

#include <algorithm>

namespace strait {

int Deal::share_of(int rank, int turn) const {
  const auto found = std::lower_bound(ranks_.begin(), ranks_.end(), rank);
  const int place = static_cast<int>(found - ranks_.begin());
  const int begin = turn * rails_;
  const int after = ((place - first_ - begin) % size() + size()) % size();
  return after < rails_ && begin + after < shares_ ? begin + after : kNoShare;
}

Levels::Levels(const Topology& topology, int lane, int rank)
    : lane_(lane), domain_(topology.domain_of[static_cast<size_t>(rank)]) {
  members_.resize(static_cast<size_t>(topology.domain_count()));
  for (int r = 0; r < topology.rank_count(); ++r)
    members_[static_cast<size_t>(topology.domain_of[static_cast<size_t>(r)])].push_back(r);
  const std::vector<int>& own = group();
  place_ = static_cast<int>(std::lower_bound(own.begin(), own.end(), rank) - own.begin());
  const auto [smallest, largest] =
      std::minmax_element(members_.begin(), members_.end(),
                          [](const auto& a, const auto& b) { return a.size() < b.size(); });
  rails_ = static_cast<int>(smallest->size());
  turns_ = (static_cast<int>(largest->size()) + rails_ - 1) / rails_;
}

int Levels::behind(int steps) const {
  return (domain_ - steps + domain_count()) % domain_count();
}

int Levels::member_behind(int places) const {
  const int size = static_cast<int>(group().size());
  return group()[static_cast<size_t>(((place_ - places) % size + size) % size)];
}

}  // namespace strait
