// Hierarchical reduce-scatter over two levels, for domains that are joined by narrow links.
//
//   domain A   a0  a1  a2      1 inside: for each rank of the other domains, the rank of its rail
//              │   │   │ rails   adds up its domain's part of that block
//   domain B   b0  b1  b2      2 between: that partial sum goes to the block's owner
//                              3 the owner adds up its own domain's part, then the domains
//
// With D domains of k ranks: steps per lane D (2k-2) + D-1 or a few more; bytes on the wire per
// rank: inside (k-1) * D * count, between (D-1) * count, one block to each other domain's rank of
// the rail. In a domain of other size the blocks are dealt out to its ranks in turn. Additions go
// in rank order inside a domain and in domain order between; a partial sum is rounded once per
// level.
#include <algorithm>

#include "plan/algorithms/direct.hpp"
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
    // The own domain's blocks last: the others' partial sums are on their way meanwhile.
    for (int behind = levels_.domain_count() - 1; behind >= 0; --behind)
      for (int turn = 0; turn < levels_.turn_count(); ++turn)
        reduce_inside(levels_.behind(behind), turn);
    if (levels_.domain_count() > 1) reduce_between();
  }

 private:
  Place block(int owner) const {
    return input(static_cast<uint64_t>(owner) * count_ + part_.offset);
  }

  // Everyone sends its part of a turn's blocks to those who carry them; they add up.
  void reduce_inside(int owners, int turn) {
    const Deal deal = levels_.deal_blocks(owners, levels_.domain());
    const auto owner_for = [&](int rank) {
      const int share = deal.share_of(rank, turn);
      return share == kNoShare ? kNoPeer : levels_.members(owners)[static_cast<size_t>(share)];
    };
    for (const int peer : peers_after(levels_.group(), rank_))
      if (const int owner = owner_for(peer); owner != kNoPeer)
        lane_.add({.count = part_.count, .source = block(owner), .send_to = peer});
    const int owner = owner_for(rank_);
    if (owner == kNoPeer) return;
    Step last{.count = part_.count, .finish = levels_.domain_count() == 1};
    if (owner == rank_)
      last.target = output(part_.offset);
    else
      last.send_to = owner;
    lane_.sum(contributions(levels_.group(), rank_, block(owner)), last);
  }

  // Adds up the own block over the domains; this domain's partial sum lies in the output.
  void reduce_between() {
    const Place own = output(part_.offset);
    const std::vector<int>& group = levels_.group();
    const auto share = std::lower_bound(group.begin(), group.end(), rank_) - group.begin();
    std::vector<Summand> partials;
    for (int d = 0; d < levels_.domain_count(); ++d) {
      const int carrier = levels_.deal_blocks(levels_.domain(), d).rank_of(static_cast<int>(share));
      partials.push_back(carrier == rank_ ? Summand::at(own) : Summand::from(carrier));
    }
    lane_.sum(partials, {.count = part_.count, .target = own, .finish = true});
  }

  LaneDraft lane_;
  Levels levels_;
  int rank_;
  uint64_t count_;
  Range part_;
};

}  // namespace

Plan reduce_scatter_hierarchical(const PlanContext& context) {
  Draft draft(context);
  for (int l = 0; l < draft.lane_count(); ++l) LaneWriter(context, draft.lane(l)).write();
  return draft.finish(1);
}

}  // namespace strait
