// Direct scatter: the root sends each rank its block. One hop.
//
//   root ──block p──> p      Steps per lane: n at the root, 1 elsewhere. Bytes on the wire: (n-1) *
//   count, all from the root.
#include "plan/algorithms/direct.hpp"
#include "plan/planners.hpp"

namespace strait {

Plan scatter_direct(const PlanContext& context) {
  Draft draft(context);
  const uint64_t count = context.request.count;
  for (int l = 0; l < draft.lane_count(); ++l) {
    LaneDraft lane = draft.lane(l);
    const Range part = lane.share({0, count});
    if (!context.is_root()) {
      lane.add(
          {.count = part.count, .recv_from = context.request.root, .target = output(part.offset)});
      continue;
    }
    const auto block = [&](int rank) {
      return input(static_cast<uint64_t>(rank) * count + part.offset);
    };
    for (const int peer : peers_after(all_ranks(context.rank_count()), context.rank))
      lane.add({.count = part.count, .source = block(peer), .send_to = peer});
    lane.add({.count = part.count, .source = block(context.rank), .target = output(part.offset)});
  }
  return draft.finish(1);
}

}  // namespace strait
