// What crosses between domains, counted in the plans: the two-level algorithms send what must cross
// and no element more, and every rail carries its share of it.
#include <gtest/gtest.h>

#include <algorithm>

#include "plan/cases.hpp"

namespace strait::plan_test {
namespace {

using Counts = std::vector<uint64_t>;

struct Crossings {
  Counts out;      // elements that leave each domain
  Counts into;     // elements that enter it
  Counts by_rank;  // elements that each rank sends to other domains

  uint64_t all() const {
    uint64_t sum = 0;
    for (const uint64_t count : out) sum += count;
    return sum;
  }
};

Crossings crossings(const Request& request, const Topology& topology, int lanes,
                    Algorithm algorithm = Algorithm::kHierarchical) {
  const size_t domains = static_cast<size_t>(topology.domain_count());
  const size_t ranks = static_cast<size_t>(topology.rank_count());
  Crossings found{Counts(domains), Counts(domains), Counts(ranks)};
  const Choice choice{.algorithm = algorithm, .lanes = lanes, .piece = 16, .reason = {}};
  for (const Call& call : make_calls(request, topology, choice))
    for (const Lane& lane : call.plan.lanes)
      for (const Step& step : lane.steps) {
        if (step.send_to == kNoPeer || topology.same_domain(call.plan.rank, step.send_to)) continue;
        const auto domain_of = [&](int rank) {
          return static_cast<size_t>(topology.domain_of[static_cast<size_t>(rank)]);
        };
        found.out[domain_of(call.plan.rank)] += step.count;
        found.into[domain_of(step.send_to)] += step.count;
        found.by_rank[static_cast<size_t>(call.plan.rank)] += step.count;
      }
  return found;
}

uint64_t size_of_domain(const Topology& topology, size_t domain) {
  return topology.ranks_of(static_cast<int>(domain)).size();
}

// Every block from outside enters a domain once.
TEST(Crossing, AllGatherBringsEachBlockIntoADomainOnce) {
  for (const Topology& topology : level_layouts())
    for (const int lanes : {1, 3}) {
      const Request request{.collective = Collective::kAllGather, .count = 100};
      const Crossings found = crossings(request, topology, lanes);
      const uint64_t ranks = static_cast<uint64_t>(topology.rank_count());
      for (size_t d = 0; d < found.into.size(); ++d)
        EXPECT_EQ(found.into[d], (ranks - size_of_domain(topology, d)) * 100) << format(topology);
    }
}

// One partial sum of every block owned elsewhere leaves a domain.
TEST(Crossing, ReduceScatterTakesOneSumOfEachBlockOutOfADomain) {
  for (const Topology& topology : level_layouts())
    for (const int lanes : {1, 3}) {
      const Request request{.collective = Collective::kReduceScatter, .count = 100};
      const Crossings found = crossings(request, topology, lanes);
      const uint64_t ranks = static_cast<uint64_t>(topology.rank_count());
      for (size_t d = 0; d < found.out.size(); ++d)
        EXPECT_EQ(found.out[d], (ranks - size_of_domain(topology, d)) * 100) << format(topology);
    }
}

void expect_one_crossing(const Topology& topology, int root, int lanes, Algorithm algorithm) {
  Request request{.collective = Collective::kBroadcast, .count = 101, .root = root};
  SCOPED_TRACE(describe(request, topology, {.algorithm = algorithm, .lanes = lanes, .reason = {}}));
  const Crossings down = crossings(request, topology, lanes, algorithm);
  request.collective = Collective::kReduce;
  const Crossings up = crossings(request, topology, lanes, algorithm);
  for (int d = 0; d < topology.domain_count(); ++d) {
    const bool home = d == topology.domain_of[static_cast<size_t>(root)];
    const size_t i = static_cast<size_t>(d);
    EXPECT_EQ(down.into[i], home ? 0 : 101);
    EXPECT_LE(down.out[i], 101U);
    EXPECT_EQ(up.out[i], home ? 0 : 101);
    EXPECT_LE(up.into[i], 101U);
  }
}

// By levels and by a chain alike: a broadcast enters each other domain once, a reduce leaves it
// once.
TEST(Crossing, RootedCollectivesCrossOnceForEachOtherDomain) {
  for (const Topology& topology : level_layouts())
    for (int root = 0; root < topology.rank_count(); ++root)
      for (const int lanes : {1, 3})
        for (const Algorithm algorithm : {Algorithm::kHierarchical, Algorithm::kRing})
          expect_one_crossing(topology, root, lanes, algorithm);
}

TEST(Crossing, AllReduceCrossesTwiceFewerTimesThanDomains) {
  for (const Topology& topology : level_layouts()) {
    const Request request{.collective = Collective::kAllReduce, .count = 96};
    const uint64_t others = static_cast<uint64_t>(topology.domain_count()) - 1;
    EXPECT_EQ(crossings(request, topology, 2).all(), 2 * others * 96) << format(topology);
  }
}

// With a NIC for every GPU, all of them carry the same.
TEST(Crossing, RailsOfEqualDomainsShareEvenly) {
  const auto most_and_least = [](const Crossings& found, const std::vector<int>& ranks) {
    uint64_t most = 0;
    uint64_t least = UINT64_MAX;
    for (const int rank : ranks) {
      most = std::max(most, found.by_rank[static_cast<size_t>(rank)]);
      least = std::min(least, found.by_rank[static_cast<size_t>(rank)]);
    }
    return std::pair(most, least);
  };
  for (const char* text : {"2+2", "4+4", "3+3+3"})
    for (const Collective collective : {Collective::kAllGather, Collective::kReduceScatter,
                                        Collective::kBroadcast, Collective::kReduce}) {
      const Topology topology = layout(text);
      const Request request{.collective = collective, .count = 2 * 12 * 512, .root = 1};
      const Crossings found = crossings(request, topology, 2);
      for (int d = 0; d < topology.domain_count(); ++d) {
        const auto [most, least] = most_and_least(found, topology.ranks_of(d));
        EXPECT_EQ(most, least) << name_of(collective) << " " << text;
      }
    }
}

// Where domains differ, no rank of the larger one carries more than its part and one lane's rest.
TEST(Crossing, LanesEvenOutWhatDoesNotDivide) {
  const Topology topology = layout("7+8");
  const uint64_t count = 4 * 1024;
  const Crossings gathered =
      crossings({.collective = Collective::kReduceScatter, .count = count}, topology, 4);
  for (int rank = 0; rank < 7; ++rank)  // 32 shares of a lane for 7 ranks
    EXPECT_LE(gathered.by_rank[static_cast<size_t>(rank)], 5 * count / 4);
  const Crossings spread =
      crossings({.collective = Collective::kReduce, .count = 7 * count, .root = 0}, topology, 4);
  for (int rank = 7; rank < 15; ++rank)  // 28 shares of a lane for 8 ranks
    EXPECT_LE(spread.by_rank[static_cast<size_t>(rank)], 4 * count / 4);
}

}  // namespace
}  // namespace strait::plan_test
