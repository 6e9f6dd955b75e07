// Hierarchical reduce over two levels, for domains that are joined by narrow links. Each lane's
// data is cut into one share per rail; the smallest domain says how many rails there are.
//
//   domain C    c0     c1  c2      1 inside: the rank of a share's rail adds up its domain's part
//                │     │   │       2 between: it adds what the domain before has, and sends the sum
//   domain B    b0     b1  b2        down the chain of domains, which ends at the root's
//                │     │   │       3 inside: there the ranks of the rails hand the shares to the
//   domain A   root <─ a1  a2        root
//
// With domains of k ranks: steps per lane 2k-1 or a few more, 3k-2 at the root; bytes on the wire
// per rank: inside (k-1)/k * size, size in the root's domain, between size/k (none from the root's
// domain). Additions go in rank order inside a domain, then comes what the domains before have; a
// sum is rounded once per domain. In a larger domain the lanes take turns with its ranks.
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
        root_(context.request.root),
        root_domain_(context.topology.domain_of[static_cast<size_t>(root_)]),
        rails_(levels_.rail_count()),
        part_(lane.share({0, context.request.count})) {}

  void write() {
    for (const int peer : peers_after(levels_.group(), rank_))
      if (const int share = share_of(peer); share != kNoShare) {
        const Range at = range(share);
        lane_.add({.count = at.count, .source = input(at.offset), .send_to = peer});
      }
    if (const int share = share_of(rank_); share != kNoShare) add_up(share);
    if (rank_ == root_) gather();
  }

 private:
  Range range(int share) const { return split(part_, rails_, share); }
  int share_of(int rank) const { return levels_.deal(rails_, levels_.domain()).share_of(rank, 0); }

  // The chain of domains begins behind the root's.
  void add_up(int share) {
    const Range at = range(share);
    std::vector<Summand> summands = contributions(levels_.group(), rank_, input(at.offset));
    if (levels_.domain_count() > 1 && levels_.previous() != root_domain_)
      summands.push_back(Summand::from(levels_.deal(rails_, levels_.previous()).rank_of(share)));
    Step last{.count = at.count, .finish = levels_.domain() == root_domain_};
    if (rank_ == root_)
      last.target = output(at.offset);
    else if (last.finish)
      last.send_to = root_;
    else
      last.send_to = levels_.deal(rails_, levels_.next()).rank_of(share);
    lane_.sum(summands, last);
  }

  void gather() {
    for (const int peer : peers_after(levels_.group(), rank_))
      if (const int share = share_of(peer); share != kNoShare) {
        const Range at = range(share);
        lane_.add({.count = at.count, .recv_from = peer, .target = output(at.offset)});
      }
  }

  LaneDraft lane_;
  Levels levels_;
  int rank_;
  int root_;
  int root_domain_;
  int rails_;
  Range part_;
};

}  // namespace

Plan reduce_hierarchical(const PlanContext& context) {
  Draft draft(context);
  for (int l = 0; l < draft.lane_count(); ++l) LaneWriter(context, draft.lane(l)).write();
  return draft.finish(1);
}

}  // namespace strait
