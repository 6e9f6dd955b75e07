// Direct all-to-all: every rank sends each other rank what is meant for it. One hop.
//
//   r ──block p──> p (for all p)      Steps per lane: 2n-1. Bytes on the wire per rank: (n-1) *
//   count.
#include "plan/algorithms/direct.hpp"
#include "plan/planners.hpp"

namespace strait {

Plan all_to_all_direct(const PlanContext& context) {
  Draft draft(context);
  const std::vector<int> peers = peers_after(all_ranks(context.rank_count()), context.rank);
  const uint64_t count = context.request.count;
  for (int l = 0; l < draft.lane_count(); ++l) {
    LaneDraft lane = draft.lane(l);
    const Range part = lane.share({0, count});
    const auto block = [&](int rank) { return static_cast<uint64_t>(rank) * count + part.offset; };
    for (const int peer : peers)
      lane.add({.count = part.count, .source = input(block(peer)), .send_to = peer});
    lane.add({.count = part.count,
              .source = input(block(context.rank)),
              .target = output(block(context.rank))});
    for (const int peer : peers)
      lane.add({.count = part.count, .recv_from = peer, .target = output(block(peer))});
  }
  return draft.finish(1);
}

}  // namespace strait
