// Hierarchical all-gather over two levels, for domains that are joined by narrow links.
//
//   domain A   a0 ─ a1 ─ a2    1 between: every rank's block goes round the ring of domains on its
//              │    │    │ rails  rail, coded once, passed on as it is
//   domain B   b0 ─ b1 ─ b2    2 inside: who has a block, its own or from outside, sends it round
//                                the ring of its domain
//
// With D domains of k ranks: steps per lane D (k+1) - 1; bytes on the wire per rank: inside (k-1) *
// D * count, between (D-1) * count, and no block enters a domain twice. In a domain of other size
// the blocks are dealt out to its ranks in turn. One round inside runs while the next domain's
// blocks are on their way.
#include "plan/algorithms/levels.hpp"
#include "plan/planners.hpp"

namespace strait {
namespace {

// One rank's part in one lane.
class LaneWriter {
 public:
  LaneWriter(const PlanContext& context, LaneDraft lane)
      : lane_(lane),
        levels_(context.topology, lane.index(), context.rank),
        rank_(context.rank),
        count_(context.request.count),
        part_(lane.share({0, count_})) {}

  void write() {
    for (int number = 0; number < levels_.turn_count(); ++number)
      for (int hop = 0; hop < levels_.domain_count(); ++hop) {
        const Turn turn{levels_.behind(hop), number};
        pass_on(hop, turn);
        go_round(turn);
      }
  }

 private:
  // Blocks of a source domain, at most one for each rank of this one.
  struct Turn {
    int source;
    int number;
  };

  Place slot(int source, int share) const {
    const int owner = levels_.members(source)[static_cast<size_t>(share)];
    return output(static_cast<uint64_t>(owner) * count_ + part_.offset);
  }
  int share_in(const Turn& turn, int rank) const {
    return levels_.deal_blocks(turn.source, levels_.domain()).share_of(rank, turn.number);
  }
  bool alone() const { return levels_.group().size() == 1; }

  // The ring of domains: hop 0 is the own block's start, the last hop its end. Each block also sets
  // out on its round inside.
  void pass_on(int hop, const Turn& turn) {
    const int share = share_in(turn, rank_);
    if (share == kNoShare) return;
    Step step{.count = part_.count, .target = slot(turn.source, share)};
    if (hop == 0)
      step.source = input(part_.offset);
    else
      step.recv_from = levels_.deal_blocks(turn.source, levels_.previous()).rank_of(share);
    if (hop < levels_.domain_count() - 1) {
      step.send_to = levels_.deal_blocks(turn.source, levels_.next()).rank_of(share);
      lane_.add(step);
      step = {.count = part_.count, .source = slot(turn.source, share)};
      if (alone()) return;
    }
    if (!alone()) step.send_to = levels_.member_behind(-1);
    lane_.add(step);
  }

  // The ring of this domain, where each rank passes on what the ranks behind it have.
  void go_round(const Turn& turn) {
    const int ranks = static_cast<int>(levels_.group().size());
    for (int behind = 1; behind < ranks; ++behind) {
      const int share = share_in(turn, levels_.member_behind(behind));
      if (share == kNoShare) continue;
      lane_.add({.count = part_.count,
                 .recv_from = levels_.member_behind(1),
                 .target = slot(turn.source, share),
                 .send_to = behind < ranks - 1 ? levels_.member_behind(-1) : kNoPeer});
    }
  }

  LaneDraft lane_;
  Levels levels_;
  int rank_;
  uint64_t count_;
  Range part_;
};

}  // namespace

Plan all_gather_hierarchical(const PlanContext& context) {
  Draft draft(context);
  for (int l = 0; l < draft.lane_count(); ++l) LaneWriter(context, draft.lane(l)).write();
  // In a ring of three or more that has something everywhere, every place takes and gives in one
  // step: of domains always, of ranks in the smallest domain.
  const Levels levels(context.topology, 0, context.rank);
  return draft.finish(levels.domain_count() > 2 || levels.rail_count() > 2 ? 2 : 1);
}

}  // namespace strait
