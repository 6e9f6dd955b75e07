// Direct broadcast: the root sends to every other rank. One hop.
//
//   root ──> everyone      Steps per lane: n-1 at the root, 1 elsewhere. Bytes on the wire: (n-1) *
//   size, all from the root.
#include "plan/algorithms/direct.hpp"
#include "plan/planners.hpp"

namespace strait {

Plan broadcast_direct(const PlanContext& context) {
  Draft draft(context);
  const std::vector<int> peers = peers_after(all_ranks(context.rank_count()), context.rank);
  for (int l = 0; l < draft.lane_count(); ++l) {
    LaneDraft lane = draft.lane(l);
    const Range part = lane.share({0, context.request.count});
    if (!context.is_root()) {
      lane.add(
          {.count = part.count, .recv_from = context.request.root, .target = output(part.offset)});
      continue;
    }
    for (const int peer : peers) {
      Step step{.count = part.count, .source = input(part.offset), .send_to = peer};
      if (peer == peers.front()) step.target = output(part.offset);
      lane.add(step);
    }
  }
  return draft.finish(1);
}

}  // namespace strait
