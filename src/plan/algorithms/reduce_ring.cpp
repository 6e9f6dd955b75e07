// Chain reduce: partial sums run up the chain to the root, piece after piece.
//
//   last ──> ... ──> root      1 step per lane. Bytes on the wire per rank: size (none from the
//   root).
#include "plan/algorithms/ring_order.hpp"
#include "plan/planners.hpp"

namespace strait {

Plan reduce_ring(const PlanContext& context) {
  Draft draft(context);
  for (int l = 0; l < draft.lane_count(); ++l) {
    LaneDraft lane = draft.lane(l);
    const RingPlace chain = chain_place(context.topology, l, context.rank, context.request.root);
    const Range part = lane.share({0, context.request.count});
    Step step{.count = part.count, .source = input(part.offset)};
    if (chain.position < chain.size() - 1) step.recv_from = chain.next();
    if (chain.position == 0) {
      step.target = output(part.offset);
      step.finish = true;
    } else {
      step.send_to = chain.previous();
    }
    lane.add(step);
  }
  return draft.finish(1);
}

}  // namespace strait
