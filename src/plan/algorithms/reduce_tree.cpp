// Double binary tree reduce: partial sums go up two complementary trees over the other ranks, with
// the root on top of both.
//
//        root       Steps per lane: at most 2. Bytes on the wire per rank: size, half of it in each
//        tree.
//          4        Waits: log2(n) + 1 hops.
//        2   6
//       1 3 5 7
#include "plan/algorithms/tree_shape.hpp"
#include "plan/planners.hpp"

namespace strait {

Plan reduce_tree(const PlanContext& context) {
  Draft draft(context);
  for (int l = 0; l < draft.lane_count(); ++l) {
    LaneDraft lane = draft.lane(l);
    const TreeNode node = rooted_tree_ranks(context, l);
    const Range part = lane.share({0, context.request.count});
    std::vector<Summand> summands = {Summand::at(input(part.offset))};
    for (const int child : node.children)
      if (child != kNoPeer) summands.push_back(Summand::from(child));
    Step last{.count = part.count, .send_to = node.parent, .finish = context.is_root()};
    if (context.is_root()) last.target = output(part.offset);
    lane.sum(summands, last);
  }
  return draft.finish(1);
}

}  // namespace strait
