// Double binary tree broadcast: the root's data goes down two complementary trees over the other
// ranks, a half in each.
//
//        root       Steps per lane: at most 2. Bytes on the wire per rank: at most size (as an
//        inner node of one tree).
//          4        Waits: log2(n) + 1 hops.
//        2   6
//       1 3 5 7
#include "plan/algorithms/tree_shape.hpp"
#include "plan/planners.hpp"

namespace strait {

Plan broadcast_tree(const PlanContext& context) {
  Draft draft(context);
  for (int l = 0; l < draft.lane_count(); ++l) {
    LaneDraft lane = draft.lane(l);
    const TreeNode node = rooted_tree_ranks(context, l);
    const Range part = lane.share({0, context.request.count});
    Step take{.count = part.count, .recv_from = node.parent, .target = output(part.offset)};
    if (context.is_root()) take.source = input(part.offset);
    for (const int child : node.children) {
      if (child == kNoPeer) continue;
      if (take.send_to == kNoPeer) {
        take.send_to = child;
        continue;
      }
      lane.add(take);
      take = {.count = part.count, .source = output(part.offset), .send_to = child};
    }
    lane.add(take);
  }
  return draft.finish(1);
}

}  // namespace strait
