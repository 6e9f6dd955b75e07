// The shape of the double binary tree: two trees over the same places, in which every place is an
// inner node of at most one, so that the two halves of the data load every rank alike. Pure
// functions; any thread; O(log n).
//
//   first tree, places 1 to 7         second tree: the first one mirrored (n even) or moved by one
//   (n odd)
//          4
//        2   6
//       1 3 5 7       odd places are leaves
#pragma once

#include <array>

#include "plan/draft.hpp"

namespace strait {

enum class TreeKind { kFirst, kSecond };

// Places or ranks; kNoPeer where there is none.
struct TreeNode {
  int parent = kNoPeer;
  std::array<int, 2> children = {kNoPeer, kNoPeer};
};

// The node of `place` (from 0) in a tree over places 0 .. place_count-1.
TreeNode tree_node(int place_count, int place, TreeKind kind);

// Lanes take turns: even lanes use the first tree, odd lanes the second; all use the first where
// the choice keeps one order of addition.
inline TreeKind tree_of_lane(int lane) {
  return lane % 2 == 0 ? TreeKind::kFirst : TreeKind::kSecond;
}

// The neighbours of a rank in a tree over all ranks, for collectives without a root.
TreeNode tree_ranks(const PlanContext& context, int lane);
// The same with the request's root on top of a tree over the other ranks, so that the root sends
// each half of the data once.
TreeNode rooted_tree_ranks(const PlanContext& context, int lane);

}  // namespace strait
