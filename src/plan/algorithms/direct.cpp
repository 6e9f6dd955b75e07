#include "plan/algorithms/direct.hpp"

#include <algorithm>
#include <numeric>

namespace strait {

std::vector<int> all_ranks(int rank_count) {
  std::vector<int> ranks(static_cast<size_t>(rank_count));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

std::vector<int> peers_after(const std::vector<int>& group, int rank) {
  std::vector<int> peers = group;
  std::rotate(peers.begin(), std::upper_bound(peers.begin(), peers.end(), rank), peers.end());
  std::erase(peers, rank);
  return peers;
}

std::vector<Summand> contributions(const std::vector<int>& group, int rank, Place own) {
  std::vector<Summand> summands;
  summands.reserve(group.size());
  for (const int member : group)
    summands.push_back(member == rank ? Summand::at(own) : Summand::from(member));
  return summands;
}

}  // namespace strait
