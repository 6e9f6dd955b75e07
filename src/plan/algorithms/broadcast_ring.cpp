// Chain broadcast: the root's data runs down the ring, piece after piece, so that all ranks are
// busy once the pipe is full.
//
//   root ──> next ──> ... ──> last      1 step per lane. Bytes on the wire per rank: size (none
//   from the last).
#include "plan/algorithms/ring_order.hpp"
#include "plan/planners.hpp"

namespace strait {

Plan broadcast_ring(const PlanContext& context) {
  Draft draft(context);
  for (int l = 0; l < draft.lane_count(); ++l) {
    LaneDraft lane = draft.lane(l);
    const RingPlace chain = chain_place(context.topology, l, context.rank, context.request.root);
    const Range part = lane.share({0, context.request.count});
    Step step{.count = part.count, .target = output(part.offset)};
    if (chain.position == 0)
      step.source = input(part.offset);
    else
      step.recv_from = chain.previous();
    if (chain.position < chain.size() - 1) step.send_to = chain.next();
    lane.add(step);
  }
  return draft.finish(1);
}

}  // namespace strait
