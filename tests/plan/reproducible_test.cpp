// STRAIT_REPRODUCIBLE: one order of addition whatever the size, the pieces and the lanes, and
// whatever the domains; and without it there are several.
#include <gtest/gtest.h>

#include <set>

#include "plan/cases.hpp"
#include "plan/concrete.hpp"

namespace strait::plan_test {
namespace {

using Sums = std::set<std::string>;

constexpr Collective kAdding[] = {Collective::kAllReduce, Collective::kReduce,
                                  Collective::kReduceScatter};

// Every expression that some element ends up as, over sizes (in bytes), lanes and pieces. The
// choice is that of the size; the plan is run on few elements.
Sums sums_of(Collective collective, const Topology& topology, const Config& settings, int root) {
  Sums found;
  for (const uint64_t bytes : {2, 1'000, 6'000, 40'000, 100'000, 4'000'000, 200'000'000})
    for (const int lanes : {0, 1, 2, 3}) {
      Config config = settings;
      config.lanes = lanes;
      Request request{
          .collective = collective, .type = DataType::kBfloat16, .count = bytes / 2, .root = root};
      Choice choice = choose(request, topology, config).value();
      request.count = 41;
      choice.piece = 3;
      const std::vector<Call> calls = make_calls(request, topology, choice);
      Concrete<Expressions> concrete(calls, {.slots = calls[0].plan.slots_min});
      EXPECT_TRUE(concrete.run(1)) << describe(request, topology, choice);
      for (size_t rank = 0; rank < calls.size(); ++rank)
        for (uint64_t i = 0;
             i < output_count(request, static_cast<int>(rank), topology.rank_count()); ++i)
          found.insert(concrete.output(rank, i));
    }
  return found;
}

Config wish(const char* reproducible, const char* algorithm = "auto") {
  Config config;
  config.reproducible = reproducible;
  config.algorithm = algorithm;
  return config;
}

std::vector<Topology> layouts_of_six() {
  std::vector<Topology> layouts = {Topology::flat(6)};
  for (const char* text : {"3+3", "2+2+2", "1+5", "5+1", "2+1+3", "1+1+1+1+1+1"})
    layouts.push_back(layout(text));
  layouts.push_back(Topology::from_names({"x", "y", "x", "y", "x", "y"}));
  return layouts;
}

TEST(Reproducible, SizeGivesOneOrderToEverySizeOnEveryLayout) {
  for (const Topology& topology : all_layouts())
    for (const Collective collective : kAdding)
      for (const int root : {0, topology.rank_count() - 1})
        EXPECT_EQ(sums_of(collective, topology, wish("size"), root).size(), 1U)
            << name_of(collective) << ", " << format(topology) << ", root " << root;
}

TEST(Reproducible, WithoutItTheOrderDependsOnTheSize) {
  EXPECT_GT(sums_of(Collective::kAllReduce, layout("3+3"), wish("off"), 0).size(), 1U);
  EXPECT_GT(sums_of(Collective::kReduce, layout("3+3"), wish("off"), 0).size(), 1U);
  EXPECT_GT(sums_of(Collective::kReduceScatter, layout("3+3"), wish("off"), 0).size(), 1U);
  EXPECT_GT(sums_of(Collective::kAllReduce, Topology::flat(6), wish("off", "ring"), 0).size(), 1U);
  EXPECT_GT(sums_of(Collective::kAllReduce, Topology::flat(6), wish("off", "tree"), 0).size(), 1U);
}

TEST(Reproducible, PlacementGivesOneOrderToAllLayouts) {
  for (const char* algorithm : {"auto", "tree", "hierarchical", "ring", "two_shot,hierarchical"})
    for (const Collective collective : kAdding) {
      Sums all;
      for (const Topology& topology : layouts_of_six())
        all.merge(sums_of(collective, topology, wish("placement", algorithm), 2));
      EXPECT_EQ(all.size(), 1U) << name_of(collective) << ", " << algorithm;
    }
}

TEST(Reproducible, SizeDependsOnTheLayoutAndPlacementDoesNot) {
  Sums by_size, by_placement;
  for (const Topology& topology : layouts_of_six()) {
    by_size.merge(sums_of(Collective::kAllReduce, topology, wish("size"), 0));
    by_placement.merge(sums_of(Collective::kAllReduce, topology, wish("placement"), 0));
  }
  EXPECT_GT(by_size.size(), 3U);
  EXPECT_EQ(by_placement, Sums{"[(((((a+b)+c)+d)+e)+f)]"}) << "rank order, rounded once";
}

// Where a list leaves an order, one of the list's is taken; the promise comes before a list that
// leaves none.
TEST(Reproducible, AlgorithmsThatAreAskedForAreTakenIfTheyKeepAnOrder) {
  const Request small{
      .collective = Collective::kAllReduce, .type = DataType::kFloat32, .count = 16};
  const auto algorithm = [&](const char* reproducible, const char* asked) {
    return choose(small, Topology::flat(6), wish(reproducible, asked)).value().algorithm;
  };
  EXPECT_EQ(algorithm("size", "tree"), Algorithm::kTree);
  EXPECT_EQ(algorithm("size", "tree,one_shot"), Algorithm::kOneShot);
  EXPECT_EQ(algorithm("off", "ring"), Algorithm::kRing);
  EXPECT_EQ(algorithm("size", "ring"), Algorithm::kOneShot);
  const Choice choice = choose(small, Topology::flat(6), wish("size", "ring")).value();
  EXPECT_EQ(choice.reason, "STRAIT_REPRODUCIBLE=size: one order of addition");
  Request insisting = small;
  insisting.limits.algorithms = parse_algorithms("ring").value();
  insisting.limits.insists = true;
  EXPECT_FALSE(choose(insisting, Topology::flat(6), wish("size")).ok());
  EXPECT_TRUE(choose(insisting, Topology::flat(6), wish("off")).ok());
}

TEST(Reproducible, BeyondOneDomainOfNvlinkATreeAddsUp) {
  for (const uint64_t count : {16U, 1U << 24}) {
    Request request{
        .collective = Collective::kAllReduce, .type = DataType::kFloat32, .count = count};
    const Topology many = Topology::flat(100);
    EXPECT_EQ(choose(request, many, wish("size")).value().algorithm, Algorithm::kTree);
    EXPECT_EQ(choose(request, layout("50+50"), wish("placement")).value().algorithm,
              Algorithm::kTree);
    EXPECT_EQ(choose(request, layout("50+50"), wish("size")).value().algorithm,
              Algorithm::kHierarchical);
    // What is exact anyway is free, and so is what adds nothing.
    request.type = DataType::kInt32;
    EXPECT_EQ(choose(request, many, wish("size")).value().algorithm,
              choose(request, many, wish("off")).value().algorithm);
  }
}

// On hosts and on GPUs alike.
TEST(Reproducible, TheOrderDoesNotDependOnWhatTheRanksSitOn) {
  const Topology topology = Topology::flat(40);
  const Request request{
      .collective = Collective::kAllReduce, .type = DataType::kFloat32, .count = 1 << 24};
  Config gpu = wish("size");
  gpu.device = "gpu";
  EXPECT_EQ(choose(request, topology, gpu).value().algorithm, Algorithm::kTwoShot);
  EXPECT_EQ(choose(request, topology, wish("size")).value().algorithm, Algorithm::kTwoShot);
  EXPECT_EQ(choose(request, topology, wish("off")).value().algorithm, Algorithm::kRing);
}

}  // namespace
}  // namespace strait::plan_test
