// Direct reduce: every rank sends to the root, which adds up in rank order. One hop.
//
//   everyone ──> root      Steps per lane: n-1 or one more at the root, 1 elsewhere. Bytes on the
//   wire per rank: size.
#include "plan/algorithms/direct.hpp"
#include "plan/planners.hpp"

namespace strait {

Plan reduce_direct(const PlanContext& context) {
  Draft draft(context);
  const std::vector<int> everyone = all_ranks(context.rank_count());
  for (int l = 0; l < draft.lane_count(); ++l) {
    LaneDraft lane = draft.lane(l);
    const Range part = lane.share({0, context.request.count});
    const Place own = input(part.offset);
    if (context.is_root())
      lane.sum(contributions(everyone, context.rank, own),
               {.count = part.count, .target = output(part.offset), .finish = true});
    else
      lane.add({.count = part.count, .source = own, .send_to = context.request.root});
  }
  return draft.finish(1);
}

}  // namespace strait
