// Lists of algorithms as people write them, for all functions and by function.

#include "base/algorithms.hpp"

#include <gmock/gmock.h>

namespace strait {
namespace {

using testing::HasSubstr;

std::string names(const Result<AlgorithmSet>& set) {
  if (!set.ok()) return "error: " + set.status().message();
  if (set->all()) return "all";
  std::string result;
  for (int i = 0; i < kAlgorithmCount; ++i)
    if (set->holds(static_cast<Algorithm>(i)))
      result += (result.empty() ? "" : " ") + std::string(name_of(static_cast<Algorithm>(i)));
  return result;
}

TEST(Algorithms, ListsAllowAndForbid) {
  EXPECT_EQ(names(parse_algorithms("")), "all");
  EXPECT_EQ(names(parse_algorithms("Auto")), "all");
  EXPECT_EQ(names(parse_algorithms("ring")), "ring");
  EXPECT_EQ(names(parse_algorithms("Tree, RING")), "ring tree");
  EXPECT_EQ(names(parse_algorithms("^tree,one_shot")),
            "ring two_shot direct hierarchical point_to_point");
}

TEST(Algorithms, NamesOfNcclAreKnown) {
  EXPECT_EQ(names(parse_algorithms("RING_LL128,tree_simple,Ring_LL")), "ring tree");
  for (const char* absent : {"nvls", "NVLSTree", "CollnetDirect", "pat", "pat_simple"})
    EXPECT_EQ(names(parse_algorithms(absent)), "") << absent;
  EXPECT_EQ(names(parse_algorithms("nvls,ring")), "ring");
  EXPECT_EQ(names(parse_algorithms("^nvls")), "all");
}

TEST(Algorithms, OthersAreErrors) {
  for (const char* wrong : {"rign", "ring,,tree", "ring^", "^", "ring;tree:x"})
    EXPECT_THAT(names(parse_algorithms(wrong)), HasSubstr("is no algorithm")) << wrong;
}

TEST(Algorithms, FunctionsHaveListsOfTheirOwn) {
  const char* const lists = "ring;allreduce:tree,two_shot;Broadcast:^ring";
  EXPECT_EQ(names(algorithms_for("all_reduce", lists)), "tree two_shot");
  EXPECT_EQ(names(algorithms_for("all_gather", lists)), "ring");
  EXPECT_FALSE(algorithms_for("broadcast", lists)->holds(Algorithm::kRing));
  EXPECT_EQ(names(algorithms_for("reduce", "allreduce:tree")), "all");
  EXPECT_EQ(names(algorithms_for("all_reduce", "allreduce:tree;allreduce:ring")), "ring");
  EXPECT_TRUE(check_algorithms(lists).ok());
  EXPECT_FALSE(check_algorithms("ring;allreduce:trie").ok());
}

}  // namespace
}  // namespace strait
