// Who carries which share: each share has one rank, and no rank gets two in one turn.
#include "plan/algorithms/levels.hpp"

#include <gtest/gtest.h>

#include <map>

#include "plan/cases.hpp"

namespace strait::plan_test {
namespace {

TEST(Levels, EachShareIsDealtOnce) {
  for (const Topology& topology : level_layouts())
    for (int lane = 0; lane < 5; ++lane) {
      const Levels levels(topology, lane, 0);
      for (int owners = 0; owners < levels.domain_count(); ++owners)
        for (int domain = 0; domain < levels.domain_count(); ++domain) {
          const Deal deal = levels.deal_blocks(owners, domain);
          std::map<int, int> carrier_of;
          for (int turn = 0; turn < levels.turn_count(); ++turn)
            for (const int rank : levels.members(domain)) {
              const int share = deal.share_of(rank, turn);
              if (share == kNoShare) continue;
              EXPECT_TRUE(carrier_of.emplace(share, rank).second) << "share " << share;
            }
          EXPECT_EQ(carrier_of.size(), levels.members(owners).size()) << format(topology);
          for (const auto& [share, rank] : carrier_of) EXPECT_EQ(deal.rank_of(share), rank);
        }
    }
}

TEST(Levels, OwnersCarryTheirOwnAndRailsStayApart) {
  for (const Topology& topology : level_layouts())
    for (int lane = 0; lane < 5; ++lane) {
      const Levels levels(topology, lane, 0);
      for (int domain = 0; domain < levels.domain_count(); ++domain) {
        const std::vector<int>& ranks = levels.members(domain);
        const Deal own = levels.deal_blocks(domain, domain);
        for (size_t i = 0; i < ranks.size(); ++i)
          EXPECT_EQ(own.rank_of(static_cast<int>(i)), ranks[i]);
        for (int other = 0; other < levels.domain_count(); ++other) {
          if (levels.members(other).size() != ranks.size()) continue;
          for (size_t i = 0; i < ranks.size(); ++i)
            EXPECT_EQ(levels.deal_blocks(other, domain).rank_of(static_cast<int>(i)), ranks[i]);
        }
      }
    }
}

TEST(Levels, DomainsGoRound) {
  const Levels levels(layout("2+1+3"), 0, 2);
  EXPECT_EQ(levels.domain(), 1);
  EXPECT_EQ(levels.behind(0), 1);
  EXPECT_EQ(levels.previous(), 0);
  EXPECT_EQ(levels.next(), 2);
  EXPECT_EQ(levels.behind(2), 2);
  EXPECT_EQ(levels.rail_count(), 1);
  EXPECT_EQ(levels.turn_count(), 3);
}

}  // namespace
}  // namespace strait::plan_test
