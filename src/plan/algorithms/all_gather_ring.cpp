// Ring all-gather: every rank's block travels once round the ring.
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

Plan all_gather_ring(const PlanContext& context) {
  Draft draft(context);
  const int n = context.rank_count();
  const uint64_t count = context.request.count;
  for (int l = 0; l < draft.lane_count(); ++l) {
    LaneDraft lane = draft.lane(l);
    const RingPlace ring = ring_place(context.topology, l, context.rank);
    const Range part = lane.share({0, count});
    const auto slot = [&](int rank) {
      return output(static_cast<uint64_t>(rank) * count + part.offset);
    };
    lane.add({.count = part.count,
              .source = input(part.offset),
              .target = slot(context.rank),
              .send_to = ring.next()});
    for (int behind = 1; behind < n; ++behind)
      lane.add({.count = part.count,
                .recv_from = ring.previous(),
                .target = slot(ring.at(-behind)),
                .send_to = behind < n - 1 ? ring.next() : kNoPeer});
  }
  return draft.finish(n > 2 ? 2 : 1);
}

}  // namespace strait
