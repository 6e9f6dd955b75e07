// Direct gather: every rank sends its block to the root. One hop.
//
//   everyone ──> root      Steps per lane: n at the root, 1 elsewhere. Bytes on the wire per rank:
//   count (none from the root).
#include "plan/algorithms/direct.hpp"
#include "plan/planners.hpp"

namespace strait {

Plan gather_direct(const PlanContext& context) {
  Draft draft(context);
  const uint64_t count = context.request.count;
  for (int l = 0; l < draft.lane_count(); ++l) {
    LaneDraft lane = draft.lane(l);
    const Range part = lane.share({0, count});
    if (!context.is_root()) {
      lane.add(
          {.count = part.count, .source = input(part.offset), .send_to = context.request.root});
      continue;
    }
    const auto slot = [&](int rank) {
      return output(static_cast<uint64_t>(rank) * count + part.offset);
    };
    lane.add({.count = part.count, .source = input(part.offset), .target = slot(context.rank)});
    for (const int peer : peers_after(all_ranks(context.rank_count()), context.rank))
      lane.add({.count = part.count, .recv_from = peer, .target = slot(peer)});
  }
  return draft.finish(1);
}

}  // namespace strait
