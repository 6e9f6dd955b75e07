// One-shot all-reduce: every rank sends everything to everyone and adds up for itself. One hop: the
// shortest wait.
//
//   0 ──a0──> 1,2,3      every rank then has a0 a1 a2 a3
//   1 ──a1──> 0,2,3      and adds them in rank order
//
// Steps per lane: 2(n-1) or one more. Bytes on the wire per rank: (n-1) * size.
#include "plan/algorithms/direct.hpp"
#include "plan/planners.hpp"

namespace strait {

Plan all_reduce_one_shot(const PlanContext& context) {
  Draft draft(context);
  const std::vector<int> everyone = all_ranks(context.rank_count());
  for (int l = 0; l < draft.lane_count(); ++l) {
    LaneDraft lane = draft.lane(l);
    const Range part = lane.share({0, context.request.count});
    for (const int peer : peers_after(everyone, context.rank))
      lane.add({.count = part.count, .source = input(part.offset), .send_to = peer});
    lane.sum(contributions(everyone, context.rank, input(part.offset)),
             {.count = part.count, .target = output(part.offset), .finish = true});
  }
  return draft.finish(1);
}

}  // namespace strait
