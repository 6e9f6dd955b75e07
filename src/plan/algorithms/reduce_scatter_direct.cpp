// Direct reduce-scatter: every rank sends each other rank its block and adds up its own in rank
// order. One hop.
//
//   r ──block p──> p (for all p)      Steps per lane: 2(n-1) or one more. Bytes on the wire per
//   rank: (n-1) * count.
#include "plan/algorithms/direct.hpp"
#include "plan/planners.hpp"

namespace strait {

Plan reduce_scatter_direct(const PlanContext& context) {
  Draft draft(context);
  const std::vector<int> everyone = all_ranks(context.rank_count());
  const uint64_t count = context.request.count;
  for (int l = 0; l < draft.lane_count(); ++l) {
    LaneDraft lane = draft.lane(l);
    const Range part = lane.share({0, count});
    const auto block = [&](int rank) {
      return input(static_cast<uint64_t>(rank) * count + part.offset);
    };
    for (const int peer : peers_after(everyone, context.rank))
      lane.add({.count = part.count, .source = block(peer), .send_to = peer});
    lane.sum(contributions(everyone, context.rank, block(context.rank)),
             {.count = part.count, .target = output(part.offset), .finish = true});
  }
  return draft.finish(1);
}

}  // namespace strait
