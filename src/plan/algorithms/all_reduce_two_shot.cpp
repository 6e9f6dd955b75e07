// Two-shot all-reduce: every rank owns a shard, collects it from all, adds it up and gives it to
// all. Two hops, and each byte is added once.
//
//   shot 1   r ──shard s──> owner s       each owner adds its shard in rank order
//   shot 2   owner s ──sum──> everyone
//
// Steps per lane: 4(n-1) or one more. Bytes on the wire per rank: 2 * (n-1)/n * size.
#include "plan/algorithms/direct.hpp"
#include "plan/planners.hpp"

namespace strait {

Plan all_reduce_two_shot(const PlanContext& context) {
  Draft draft(context);
  const int ranks = context.rank_count();
  const std::vector<int> everyone = all_ranks(ranks);
  const std::vector<int> peers = peers_after(everyone, context.rank);
  for (int l = 0; l < draft.lane_count(); ++l) {
    LaneDraft lane = draft.lane(l);
    const Range part = lane.share({0, context.request.count});
    const Range own = split(part, ranks, context.rank);
    for (const int owner : peers) {
      const Range shard = split(part, ranks, owner);
      lane.add({.count = shard.count, .source = input(shard.offset), .send_to = owner});
    }
    lane.sum(contributions(everyone, context.rank, input(own.offset)),
             {.count = own.count, .target = output(own.offset), .finish = true});
    for (const int peer : peers)
      lane.add({.count = own.count, .source = output(own.offset), .send_to = peer});
    for (const int owner : peers) {
      const Range shard = split(part, ranks, owner);
      lane.add({.count = shard.count, .recv_from = owner, .target = output(shard.offset)});
    }
  }
  return draft.finish(1);
}

}  // namespace strait
