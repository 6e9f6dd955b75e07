// Direct all-gather: every rank sends its block to every other. One hop.
//
//   r ──block r──> everyone      Steps per lane: 2(n-1). Bytes on the wire per rank: (n-1) * count.
#include "plan/algorithms/direct.hpp"
#include "plan/planners.hpp"

namespace strait {

Plan all_gather_direct(const PlanContext& context) {
  Draft draft(context);
  const std::vector<int> everyone = all_ranks(context.rank_count());
  const std::vector<int> peers = peers_after(everyone, context.rank);
  const uint64_t count = context.request.count;
  for (int l = 0; l < draft.lane_count(); ++l) {
    LaneDraft lane = draft.lane(l);
    const Range part = lane.share({0, count});
    const auto slot = [&](int rank) {
      return output(static_cast<uint64_t>(rank) * count + part.offset);
    };
    for (const int peer : peers) {
      Step step{.count = part.count, .source = input(part.offset), .send_to = peer};
      if (peer == peers.front()) step.target = slot(context.rank);
      lane.add(step);
    }
    for (const int peer : peers)
      lane.add({.count = part.count, .recv_from = peer, .target = slot(peer)});
  }
  return draft.finish(1);
}

}  // namespace strait
