// Ring all-reduce: n blocks travel round the ring; the first time round they are added up, the
// second time handed out.
//
//   first   block p leaves place p; each place adds its own and passes on; place p-1 completes it
//   second  place p-1 sends the finished block p on; each place keeps it and passes on
//
//      0 ──> 1 ──> 2 ──> 3 ──┐        Steps per lane: 2n - 1.
//      └─────────────────────┘        Bytes on the wire per rank: 2 * (n-1)/n * size, the least
//      possible.
//
// The step that completes a block also starts its second round. Every place takes and gives in one
// step, so a ring whose every slot is full cannot move: two slots per link.
#include "plan/algorithms/ring_order.hpp"
#include "plan/planners.hpp"

namespace strait {

Plan all_reduce_ring(const PlanContext& context) {
  Draft draft(context);
  const int n = context.rank_count();
  for (int l = 0; l < draft.lane_count(); ++l) {
    LaneDraft lane = draft.lane(l);
    const RingPlace ring = ring_place(context.topology, l, context.rank);
    const Range part = lane.share({0, context.request.count});
    const auto block = [&](int behind) {
      return split(part, n, ((ring.position - behind) % n + n) % n);
    };
    const Range first = block(0);
    lane.add({.count = first.count, .source = input(first.offset), .send_to = ring.next()});
    for (int behind = 1; behind < n; ++behind) {
      const Range at = block(behind);
      Step step{.count = at.count,
                .recv_from = ring.previous(),
                .source = input(at.offset),
                .send_to = ring.next()};
      if (behind == n - 1) {
        step.target = output(at.offset);
        step.finish = true;
      }
      lane.add(step);
    }
    for (int behind = n; behind < 2 * n - 1; ++behind) {
      const Range at = block(behind);
      lane.add({.count = at.count,
                .recv_from = ring.previous(),
                .target = output(at.offset),
                .send_to = behind < 2 * n - 2 ? ring.next() : kNoPeer});
    }
  }
  return draft.finish(2);
}

}  // namespace strait
