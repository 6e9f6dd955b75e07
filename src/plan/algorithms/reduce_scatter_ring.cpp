// Ring reduce-scatter: the block of each place starts behind it and collects every contribution on
// its way home.
//
//      0 ──> 1 ──> 2 ──> 3 ──┐        Steps per lane: n.
//      └─────────────────────┘        Bytes on the wire per rank: (n-1) * count, the least
//      possible.
//
// From three ranks on, places take and give in one step, so a full ring cannot move: two slots per
// link.
#include "plan/algorithms/ring_order.hpp"
#include "plan/planners.hpp"

namespace strait {

Plan reduce_scatter_ring(const PlanContext& context) {
  Draft draft(context);
  const int n = context.rank_count();
  const uint64_t count = context.request.count;
  for (int l = 0; l < draft.lane_count(); ++l) {
    LaneDraft lane = draft.lane(l);
    const RingPlace ring = ring_place(context.topology, l, context.rank);
    const Range part = lane.share({0, count});
    const auto block = [&](int rank) {
      return input(static_cast<uint64_t>(rank) * count + part.offset);
    };
    lane.add({.count = part.count, .source = block(ring.at(-1)), .send_to = ring.next()});
    for (int behind = 2; behind < n; ++behind)
      lane.add({.count = part.count,
                .recv_from = ring.previous(),
                .source = block(ring.at(-behind)),
                .send_to = ring.next()});
    lane.add({.count = part.count,
              .recv_from = ring.previous(),
              .source = block(context.rank),
              .target = output(part.offset),
              .finish = true});
  }
  return draft.finish(n > 2 ? 2 : 1);
}

}  // namespace strait
