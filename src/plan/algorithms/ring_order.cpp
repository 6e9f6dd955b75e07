#include "plan/algorithms/ring_order.hpp"

#include <algorithm>

namespace strait {

int RingPlace::at(int steps) const {
  const int n = size();
  return order[static_cast<size_t>(((position + steps) % n + n) % n)];
}

RingPlace ring_place(const Topology& topology, int lane, int rank) {
  RingPlace place;
  std::vector<std::vector<int>> domains(static_cast<size_t>(topology.domain_count()));
  for (int r = 0; r < topology.rank_count(); ++r)
    domains[static_cast<size_t>(topology.domain_of[static_cast<size_t>(r)])].push_back(r);
  for (std::vector<int>& members : domains) {
    const auto first = static_cast<std::ptrdiff_t>(static_cast<size_t>(lane) % members.size());
    std::rotate(members.begin(), members.begin() + first, members.end());
    place.order.insert(place.order.end(), members.begin(), members.end());
  }
  const auto found = std::find(place.order.begin(), place.order.end(), rank);
  place.position = static_cast<int>(found - place.order.begin());
  return place;
}

RingPlace chain_place(const Topology& topology, int lane, int rank, int root) {
  RingPlace place;
  place.order.push_back(root);
  const int domains = topology.domain_count();
  const int home = topology.domain_of[static_cast<size_t>(root)];
  for (int i = 0; i < domains; ++i) {
    std::vector<int> members = topology.ranks_of((home + i) % domains);
    if (i == 0) {
      std::rotate(members.begin(), std::find(members.begin(), members.end(), root), members.end());
      members.erase(members.begin());
      if (members.empty()) continue;
    }
    const auto first = static_cast<std::ptrdiff_t>(static_cast<size_t>(lane) % members.size());
    std::rotate(members.begin(), members.begin() + first, members.end());
    place.order.insert(place.order.end(), members.begin(), members.end());
  }
  const auto found = std::find(place.order.begin(), place.order.end(), rank);
  place.position = static_cast<int>(found - place.order.begin());
  return place;
}

}  // namespace strait
