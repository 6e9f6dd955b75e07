// The order of addition is a promise: it must not depend on who owns a shard, nor on lanes or
// pieces.
#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "plan/cases.hpp"
#include "plan/concrete.hpp"

namespace strait::plan_test {
namespace {

// All different expressions that ranks end up with.
std::set<std::string> sums(const Request& request, const Topology& topology, const Choice& choice) {
  const std::vector<Call> calls = make_calls(request, topology, choice);
  Concrete<Expressions> concrete(calls, {.slots = calls[0].plan.slots_min});
  EXPECT_TRUE(concrete.run(1));
  std::set<std::string> found;
  for (size_t rank = 0; rank < calls.size(); ++rank)
    for (uint64_t i = 0; i < output_count(request, static_cast<int>(rank), topology.rank_count());
         ++i)
      found.insert(concrete.output(rank, i));
  return found;
}

std::string rank_order_sum(int ranks) {
  std::string sum = "a";
  for (int rank = 1; rank < ranks; ++rank)
    sum = "(" + sum + "+" + std::string(1, static_cast<char>('a' + rank)) + ")";
  return "[" + sum + "]";
}

TEST(Order, DirectAlgorithmsAddInRankOrderAndRoundOnce) {
  for (const auto& [collective, algorithm] :
       {std::pair{Collective::kAllReduce, Algorithm::kOneShot},
        {Collective::kAllReduce, Algorithm::kTwoShot},
        {Collective::kAllReduce, Algorithm::kHierarchical},
        {Collective::kReduce, Algorithm::kDirect},
        {Collective::kReduce, Algorithm::kHierarchical},
        {Collective::kReduceScatter, Algorithm::kDirect},
        {Collective::kReduceScatter, Algorithm::kHierarchical}})
    for (int ranks = 2; ranks <= 9; ++ranks)
      for (const int lanes : {1, 3})
        for (const int root : {0, ranks - 1}) {
          const Request request{.collective = collective, .count = 40, .root = root};
          const Choice choice{.algorithm = algorithm, .lanes = lanes, .piece = 3, .reason = {}};
          EXPECT_EQ(sums(request, Topology::flat(ranks), choice),
                    std::set<std::string>{rank_order_sum(ranks)})
              << describe(request, Topology::flat(ranks), choice);
        }
}

// What each layout's ranks add up to, whatever the lanes and pieces.
void expect_sums(const Request& request, const Topology& topology, const std::string& sum) {
  for (const int lanes : {1, 2, 3})
    for (const uint64_t piece : {2, 100}) {
      const Choice choice{
          .algorithm = Algorithm::kHierarchical, .lanes = lanes, .piece = piece, .reason = {}};
      EXPECT_EQ(sums(request, topology, choice), std::set<std::string>{sum})
          << describe(request, topology, choice);
    }
}

TEST(Order, HierarchicalAddsInsideThenBetweenAndRoundsOncePerLevel) {
  for (const Collective collective : {Collective::kAllReduce, Collective::kReduceScatter})
    for (const auto& [text, sum] : {std::pair{"1+1", "[(a+b)]"},
                                    {"2+2", "[([(a+b)]+[(c+d)])]"},
                                    {"1+3", "[(a+[((b+c)+d)])]"},
                                    {"3+1", "[([((a+b)+c)]+d)]"},
                                    {"2+1+3", "[(([(a+b)]+c)+[((d+e)+f)])]"},
                                    {"1+1+1+1", "[(((a+b)+c)+d)]"},
                                    {"4+4", "[([(((a+b)+c)+d)]+[(((e+f)+g)+h)])]"}})
      expect_sums({.collective = collective, .count = 50}, layout(text), sum);
}

TEST(Order, HierarchicalFollowsRanksWhereDomainsInterleave) {
  for (const Collective collective : {Collective::kAllReduce, Collective::kReduceScatter})
    expect_sums({.collective = collective, .count = 50},
                Topology::from_names({"x", "y", "x", "y", "x"}), "[([((a+c)+e)]+[(b+d)])]");
}

// The chain of domains ends at the root's; a sum is rounded where it leaves a domain.
TEST(Order, HierarchicalReduceAddsInsideThenWhatTheDomainsBeforeHave) {
  for (const auto& [text, root, sum] : {std::tuple{"2+2", 0, "[((a+b)+[(c+d)])]"},
                                        {"2+2", 1, "[((a+b)+[(c+d)])]"},
                                        {"2+2", 3, "[([(a+b)]+(c+d))]"},
                                        {"1+3", 0, "[(a+[((b+c)+d)])]"},
                                        {"2+1+3", 4, "[([([(a+b)]+c)]+((d+e)+f))]"},
                                        {"2+1+3", 0, "[((a+b)+[(c+((d+e)+f))])]"}})
    expect_sums({.collective = Collective::kReduce, .count = 50, .root = root}, layout(text), sum);
}

// Every rank gets the same bits, by any algorithm.
TEST(Order, AllRanksAddAlike) {
  for (const PlannerRow& row : planner_rows()) {
    if (row.collective != Collective::kAllReduce) continue;
    for (const Topology& topology : all_layouts()) {
      const Request request{.collective = Collective::kAllReduce, .count = 31};
      const Choice choice{.algorithm = row.algorithm, .lanes = 2, .piece = 5, .reason = {}};
      const std::vector<Call> calls = make_calls(request, topology, choice);
      Concrete<Expressions> concrete(calls, {.slots = 2});
      ASSERT_TRUE(concrete.run(3));
      for (size_t rank = 1; rank < calls.size(); ++rank)
        for (uint64_t i = 0; i < request.count; ++i)
          ASSERT_EQ(concrete.output(rank, i), concrete.output(0, i))
              << describe(request, topology, choice);
    }
  }
}

}  // namespace
}  // namespace strait::plan_test
