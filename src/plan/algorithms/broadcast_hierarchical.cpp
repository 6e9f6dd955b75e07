// Hierarchical broadcast over two levels, for domains that are joined by narrow links. Each lane's
// data is cut into one share per rail; the smallest domain says how many rails there are.
//
//   domain A   root ─> a1 ─ a2     1 inside: the root hands each share to the rank of its rail
//                │     │    │      2 between: shares run down the chain of domains on their rails,
//   domain B    b0 ─── b1 ─ b2        coded once, passed on as they are
//                │     │    │      3 inside: who has a share sends it round the ring of its domain
//   domain C    c0 ─── c1 ─ c2
//
// With domains of k ranks: steps per lane k+1; bytes on the wire per rank: inside at most size,
// between size/k (none from the last domain). In a larger domain the lanes take turns with its
// ranks.
#include <algorithm>

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
    // The root serves the others first: their shares have the longer way.
    const int ranks = static_cast<int>(levels_.group().size());
    for (int i = 0; i < ranks; ++i) {
      const int carrier = levels_.member_behind(rank_ == root_ ? i - ranks + 1 : i);
      const int share = levels_.deal(rails_, levels_.domain()).share_of(carrier, 0);
      if (share == kNoShare) continue;
      const Range at = split(part_, rails_, share);
      if (carrier == rank_)
        carry(share, at);
      else
        pass_on(carrier, at);
    }
  }

 private:
  // From the root or the domain before, to the domain after and on its round inside.
  void carry(int share, const Range& at) {
    Step step{.count = at.count, .target = output(at.offset)};
    if (rank_ == root_)
      step.source = input(at.offset);
    else if (levels_.domain() == root_domain_)
      step.recv_from = root_;
    else
      step.recv_from = levels_.deal(rails_, levels_.previous()).rank_of(share);
    if (levels_.next() != root_domain_) {
      step.send_to = levels_.deal(rails_, levels_.next()).rank_of(share);
      lane_.add(step);
      if (after(rank_) == kNoPeer) return;
      step = {.count = at.count, .source = output(at.offset)};
    }
    step.send_to = after(rank_);
    lane_.add(step);
  }

  // The root hands a share to its carrier; others pass it on in the ring of the domain.
  void pass_on(int carrier, const Range& at) {
    Step step{.count = at.count, .target = output(at.offset)};
    if (rank_ == root_) {
      step.source = input(at.offset);
      step.send_to = carrier;
    } else {
      step.recv_from = before(carrier);
      step.send_to = after(carrier);
    }
    lane_.add(step);
  }

  // The neighbours in the ring on which a carrier's share goes round; the root has every share and
  // is left out of all rings but its own.
  int before(int carrier) const {
    const int peer = levels_.member_behind(1);
    return peer == root_ && carrier != root_ ? levels_.member_behind(2) : peer;
  }
  int after(int carrier) const {
    const int next = levels_.member_behind(-1);
    const int peer = next == root_ && carrier != root_ ? levels_.member_behind(-2) : next;
    return peer == carrier ? kNoPeer : peer;
  }

  LaneDraft lane_;
  Levels levels_;
  int rank_;
  int root_;
  int root_domain_;
  int rails_;
  Range part_;
};

// Whether somewhere three ranks or more, all of them carriers, pass on to each other in a ring:
// each then takes and gives in one step, and one slot is too few.
bool fills_a_ring(const Levels& levels, int root) {
  for (int domain = 0; domain < levels.domain_count(); ++domain) {
    std::vector<int> ring = levels.members(domain);
    std::erase(ring, root);
    const Deal deal = levels.deal(levels.rail_count(), domain);
    const auto carries = [&](int rank) { return deal.share_of(rank, 0) != kNoShare; };
    if (ring.size() > 2 && std::all_of(ring.begin(), ring.end(), carries)) return true;
  }
  return false;
}

}  // namespace

Plan broadcast_hierarchical(const PlanContext& context) {
  Draft draft(context);
  int slots = 1;
  for (int l = 0; l < draft.lane_count(); ++l) {
    LaneWriter(context, draft.lane(l)).write();
    if (fills_a_ring(Levels(context.topology, l, context.rank), context.request.root)) slots = 2;
  }
  return draft.finish(slots);
}

}  // namespace strait
