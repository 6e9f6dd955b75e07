// Hierarchical broadcast over two levels, for domains that are joined by narrow links. Each lane's
// data is cut into one share per rail; the smallest domain says how many rails there are.
//
//   domain A   root ─> a1  a2      1 inside: the root hands each share to the rank of its rail
//                │     │   │       2 between: shares run down the chain of domains on their rails,
//   domain B    b0     b1  b2        coded once, passed on as they are
//                │     │   │       3 inside: who has a share hands it to its domain
//   domain C    c0     c1  c2
//
// With domains of k ranks: steps per lane 3k-2 at the root, 2k-1 elsewhere; bytes on the wire per
// rank: inside 2 * (k-1)/k * size at the root, (k-1)/k * size elsewhere, between size/k (none from
// the last domain). In a larger domain the lanes take turns with its ranks.
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
    if (rank_ == root_) scatter();
    const int share = share_of(rank_);
    if (share != kNoShare) {
      pass_on(share);
      for (const int peer : peers_after(levels_.group(), rank_))
        if (peer != root_) {
          const Range at = range(share);
          lane_.add({.count = at.count, .source = output(at.offset), .send_to = peer});
        }
    }
    if (rank_ == root_) return;
    for (const int peer : peers_after(levels_.group(), rank_))
      if (const int other = share_of(peer); other != kNoShare) {
        const Range at = range(other);
        lane_.add({.count = at.count, .recv_from = peer, .target = output(at.offset)});
      }
  }

 private:
  Range range(int share) const { return split(part_, rails_, share); }
  int share_of(int rank) const { return levels_.deal(rails_, levels_.domain()).share_of(rank, 0); }

  void scatter() {
    for (const int peer : peers_after(levels_.group(), rank_))
      if (const int share = share_of(peer); share != kNoShare) {
        const Range at = range(share);
        lane_.add({.count = at.count,
                   .source = input(at.offset),
                   .target = output(at.offset),
                   .send_to = peer});
      }
  }

  // From the root or the domain before to the domain after.
  void pass_on(int share) {
    const Range at = range(share);
    Step step{.count = at.count, .target = output(at.offset)};
    if (rank_ == root_)
      step.source = input(at.offset);
    else if (levels_.domain() == root_domain_)
      step.recv_from = root_;
    else
      step.recv_from = levels_.deal(rails_, levels_.previous()).rank_of(share);
    if (levels_.next() != root_domain_)
      step.send_to = levels_.deal(rails_, levels_.next()).rank_of(share);
    lane_.add(step);
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

Plan broadcast_hierarchical(const PlanContext& context) {
  Draft draft(context);
  for (int l = 0; l < draft.lane_count(); ++l) LaneWriter(context, draft.lane(l)).write();
  return draft.finish(1);
}

}  // namespace strait
