// Double binary tree all-reduce: partial sums go up, the sum comes down; half of the lanes on each
// of two complementary trees.
//
//        4          up    each node adds its children's sums to its own values
//      2   6        down  the root's sum is handed from parent to children
//     1 3 5 7
//
// Steps per lane: at most 5. Bytes on the wire per rank: at most 3 * size/2 (an inner node sends
// one sum up and two down in its half), and size/2 as a leaf of the other tree. Waits: 2 log2(n)
// hops.
#include "plan/algorithms/tree_shape.hpp"
#include "plan/planners.hpp"

namespace strait {

Plan all_reduce_tree(const PlanContext& context) {
  Draft draft(context);
  for (int l = 0; l < draft.lane_count(); ++l) {
    LaneDraft lane = draft.lane(l);
    const TreeNode node = tree_ranks(context, l);
    const Range part = lane.share({0, context.request.count});
    const bool top = node.parent == kNoPeer;
    std::vector<Summand> summands = {Summand::at(input(part.offset))};
    std::vector<int> children;
    for (const int child : node.children) {
      if (child == kNoPeer) continue;
      summands.push_back(Summand::from(child));
      children.push_back(child);
    }
    Step last{.count = part.count, .send_to = node.parent, .finish = top};
    if (top) last.target = output(part.offset);
    lane.sum(summands, last);
    if (!top)
      lane.add({.count = part.count,
                .recv_from = node.parent,
                .target = output(part.offset),
                .send_to = children.empty() ? kNoPeer : children.front()});
    for (size_t i = top ? 0 : 1; i < children.size(); ++i)
      lane.add({.count = part.count, .source = output(part.offset), .send_to = children[i]});
  }
  return draft.finish(1);
}

}  // namespace strait
