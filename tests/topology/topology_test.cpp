#include "topology/topology.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace strait {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Topology, FlatIsOneDomain) {
  const Topology topology = Topology::flat(3);
  EXPECT_EQ(topology.rank_count(), 3);
  EXPECT_EQ(topology.domain_count(), 1);
  EXPECT_THAT(topology.ranks_of(0), ElementsAre(0, 1, 2));
  EXPECT_TRUE(topology.same_domain(0, 2));
}

TEST(Topology, SizesAreConsecutiveRanks) {
  const Topology topology = Topology::of_sizes({1, 3});
  EXPECT_THAT(topology.domain_of, ElementsAre(0, 1, 1, 1));
  EXPECT_FALSE(topology.same_domain(0, 1));
  EXPECT_THAT(topology.ranks_of(1), ElementsAre(1, 2, 3));
}

TEST(Topology, NamesNumberDomainsByFirstRank) {
  EXPECT_THAT(Topology::from_names({"z", "a", "z", "m", "a"}).domain_of,
              ElementsAre(0, 1, 0, 2, 1));
  EXPECT_EQ(Topology::from_names({}).domain_count(), 0);
}

TEST(Topology, PrintsAsPeopleReadIt) {
  EXPECT_EQ(format(Topology::flat(1)), "1 domain: 0");
  EXPECT_EQ(format(Topology::of_sizes({4, 4})), "2 domains: 0-3 | 4-7");
  EXPECT_EQ(format(Topology::from_names({"a", "b", "a", "b", "b"})), "2 domains: 0,2 | 1,3-4");
}

TEST(Topology, ParsesWhatItPrints) {
  for (const Topology& topology :
       {Topology{}, Topology::flat(1), Topology::flat(72), Topology::of_sizes({7, 8}),
        Topology::of_sizes({1, 1, 1}), Topology::from_names({"a", "b", "a", "c", "b", "b", "c"})}) {
    const Result<Topology> parsed = parse_topology(format(topology));
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    EXPECT_EQ(parsed.value(), topology);
  }
}

struct Refusal {
  const char* text;
  const char* why;
};

TEST(Topology, RefusesWhatIsNoTopology) {
  for (const auto& [text, why] : {
           Refusal{"", "expected the number of domains at its end"},
           Refusal{"two domains: 0", "expected the number of domains at 'two domains: 0'"},
           Refusal{"2 racks: 0 | 1", "expected 'domains:' at 'racks: 0 | 1'"},
           Refusal{"2 domains: 0-1", "expected '|' at its end"},
           Refusal{"1 domain: 0 | 1", "expected the end at '| 1'"},
           Refusal{"1 domain: 0-", "expected a rank at its end"},
           Refusal{"1 domain: -1", "expected a rank at '-1'"},
           Refusal{"1 domain: 3-1", "3-1 is no range of ranks"},
           Refusal{"1 domain: 0-99999999999", "is no range of ranks"},
           Refusal{"1 domain: 0-99999999999999999999", "expected a rank"},
           Refusal{"2 domains: 0-2 | 2-3", "rank 2 is named twice"},
           Refusal{"2 domains: 0 | 2", "rank 1 is in no domain"},
           Refusal{"2 domains: 1 | 0", "rank 0 comes too early"},
       }) {
    const Result<Topology> parsed = parse_topology(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.status().code(), Code::kInvalidArgument);
    EXPECT_THAT(parsed.status().message(), HasSubstr(why));
  }
}

TEST(Topology, IsDescribedInWords) {
  EXPECT_EQ(synthetic("2 racks x 4 ranks").value(), Topology::of_sizes({4, 4}));
  EXPECT_EQ(synthetic("1 rack x 1 gpu").value(), Topology::flat(1));
  EXPECT_EQ(synthetic("3 domains x 2 gpus").value(), Topology::of_sizes({2, 2, 2}));
  EXPECT_EQ(synthetic("2 hosts x 8 ranks").value(), Topology::of_sizes({8, 8}));
  EXPECT_EQ(synthetic("7+8").value(), Topology::of_sizes({7, 8}));
  EXPECT_EQ(synthetic(" 2 + 1 + 3 ").value(), Topology::of_sizes({2, 1, 3}));
  EXPECT_EQ(synthetic("8 ranks").value(), Topology::flat(8));
  EXPECT_EQ(synthetic("8").value(), Topology::flat(8));
}

TEST(Topology, RefusesDescriptionsItDoesNotKnow) {
  for (const auto& [text, why] : {
           Refusal{"", "expected a number at its end"},
           Refusal{"two racks", "expected a number at 'two racks'"},
           Refusal{"2 racks", "expected 'x', a number and 'ranks' at its end"},
           Refusal{"2 racks x 4", "expected 'x', a number and 'ranks' at its end"},
           Refusal{"2 racks x 4 ranks, fast", "expected the end at ', fast'"},
           Refusal{"7+", "expected a number at its end"},
           Refusal{"7+0", "a domain has 1 rank or more"},
           Refusal{"0 ranks", "a domain has 1 rank or more"},
           Refusal{"0 racks x 4 ranks", "there are 1 to"},
           Refusal{"100000000 racks x 4 ranks", "there are 1 to"},
           Refusal{"4096 racks x 1000000 ranks", "a domain has 1 rank or more"},
       }) {
    const Result<Topology> made = synthetic(text);
    ASSERT_FALSE(made.ok()) << text;
    EXPECT_THAT(made.status().message(), HasSubstr(why));
  }
}

}  // namespace
}  // namespace strait
