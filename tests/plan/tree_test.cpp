// The two trees of the double binary tree: each is a tree of low depth over all places, and no
// place is inner in both.
#include "plan/algorithms/tree_shape.hpp"

#include <gtest/gtest.h>

namespace strait {
namespace {

bool is_inner(const TreeNode& node) {
  return node.children[0] != kNoPeer || node.children[1] != kNoPeer;
}

int depth_of(int places, int place, TreeKind kind) {
  int depth = 0;
  for (int at = place; tree_node(places, at, kind).parent != kNoPeer; ++depth) {
    if (depth > places) return depth;  // a cycle
    at = tree_node(places, at, kind).parent;
  }
  return depth;
}

TEST(TreeShape, ParentsAndChildrenAgreeAndThereIsOneRoot) {
  for (int n = 1; n <= 70; ++n)
    for (const TreeKind kind : {TreeKind::kFirst, TreeKind::kSecond}) {
      int roots = 0;
      int edges = 0;
      for (int place = 0; place < n; ++place) {
        const TreeNode node = tree_node(n, place, kind);
        roots += node.parent == kNoPeer;
        for (const int child : node.children) {
          if (child == kNoPeer) continue;
          ++edges;
          ASSERT_EQ(tree_node(n, child, kind).parent, place) << n;
        }
      }
      ASSERT_EQ(roots, 1) << n;
      ASSERT_EQ(edges, n - 1) << n;
    }
}

TEST(TreeShape, DepthIsLogarithmic) {
  for (int n = 1; n <= 300; ++n) {
    int log = 0;
    while ((1 << log) < n + 1) ++log;
    for (const TreeKind kind : {TreeKind::kFirst, TreeKind::kSecond})
      for (int place = 0; place < n; ++place) ASSERT_LT(depth_of(n, place, kind), log) << n;
  }
}

TEST(TreeShape, NoPlaceIsInnerInBothTrees) {
  for (int n = 2; n <= 130; ++n)
    for (int place = 0; place < n; ++place)
      ASSERT_FALSE(is_inner(tree_node(n, place, TreeKind::kFirst)) &&
                   is_inner(tree_node(n, place, TreeKind::kSecond)))
          << "place " << place << " of " << n;
}

}  // namespace
}  // namespace strait
