// The order in which ranks form a ring or a chain: domain by domain, so that each boundary is
// crossed once. Every lane begins at another rank of each domain, so that lanes leave a domain by
// different ranks (and their NICs). Pure; any thread.
#pragma once

#include <vector>

#include "topology/topology.hpp"

namespace strait {

// One rank's place in the ring of a lane.
struct RingPlace {
  std::vector<int> order;  // ranks, in the direction data flows
  int position = 0;        // of the rank in question

  int size() const { return static_cast<int>(order.size()); }
  // The rank `steps` places further on (negative: before).
  int at(int steps) const;
  int next() const { return at(1); }
  int previous() const { return at(-1); }
};

RingPlace ring_place(const Topology& topology, int lane, int rank);
// A chain begun at `root`, first through its own domain: `position` counts from the root.
RingPlace chain_place(const Topology& topology, int lane, int rank, int root);

}  // namespace strait
