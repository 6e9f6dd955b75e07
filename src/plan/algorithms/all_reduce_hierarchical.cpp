// Hierarchical all-reduce over two levels, for domains that are joined by narrow links. Each lane's
// data is cut into one block per rail and domain. `rails` is the size of the smallest domain; the
// first `rails` ranks of a domain are owners, others give and take only.
//
//   domain A   a0  a1  a2      1 inside: owner of rail j adds up its domain's block (j, d) for each
//   domain d
//              │   │   │ rails 2 between: the partial sum of (j, d) goes to domain d, whose owner j
//              adds up the domains
//   domain B   b0  b1  b2      3 between: the finished block goes round the ring of domains, coded
//   once, passed on as it is
//                              4 inside: the owner hands each block to its domain
//
// With D domains of k ranks and k rails: steps per lane 4 D (k-1) + 4 (D-1) or a few more; bytes on
// the wire per rank: inside 2 * (k-1)/k * size, between 2 * (D-1)/D * size/k. Additions go in rank
// order inside a domain and in domain order between; a partial sum is rounded once per level.
#include <algorithm>

#include "plan/algorithms/direct.hpp"
#include "plan/planners.hpp"

namespace strait {
namespace {

// One rank's part in one lane.
class LaneWriter {
 public:
  LaneWriter(const PlanContext& context, LaneDraft lane)
      : lane_(lane),
        rank_(context.rank),
        domain_(context.topology.domain_of[static_cast<size_t>(context.rank)]),
        domains_(context.topology.domain_count()),
        part_(lane.share({0, context.request.count})) {
    rails_ = context.rank_count();
    for (int d = 0; d < domains_; ++d) {
      members_.push_back(context.topology.ranks_of(d));
      rails_ = std::min(rails_, static_cast<int>(members_.back().size()));
    }
    const std::vector<int>& own = members_[static_cast<size_t>(domain_)];
    owners_.assign(own.begin(), own.begin() + rails_);
    const auto found = std::find(owners_.begin(), owners_.end(), rank_);
    rail_ = found == owners_.end() ? -1 : static_cast<int>(found - owners_.begin());
  }

  void write() {
    // The own domain's block last: the others' partial sums are on their way meanwhile.
    for (int i = 1; i <= domains_; ++i) reduce_inside((domain_ + i) % domains_);
    if (domains_ > 1 && rail_ >= 0) reduce_between();
    // Block by block as the ring of domains brings them; each is handed out one block behind.
    for (int i = 0; i < domains_; ++i) {
      const int block_domain = (domain_ - i + domains_) % domains_;
      if (rail_ >= 0) pass_on(block_domain, i);
      if (i > 0) take_inside((block_domain + 1) % domains_);
      if (rail_ >= 0) give_inside(block_domain);
    }
    take_inside((domain_ + 1) % domains_);
  }

 private:
  Range block(int rail, int domain) const {
    return split(part_, rails_ * domains_, rail * domains_ + domain);
  }
  int owner(int rail, int domain) const {
    return members_[static_cast<size_t>(domain)][static_cast<size_t>(rail)];
  }
  const std::vector<int>& group() const { return members_[static_cast<size_t>(domain_)]; }

  // Everyone sends its part of the blocks of `block_domain` to their owners inside; the owners add
  // up.
  void reduce_inside(int block_domain) {
    for (const int peer : peers_after(owners_, rank_)) {
      const Range at = block(rail_of(peer), block_domain);
      lane_.add({.count = at.count, .source = input(at.offset), .send_to = peer});
    }
    if (rail_ < 0) return;
    const Range at = block(rail_, block_domain);
    Step last{.count = at.count};
    if (block_domain == domain_)
      last.target = output(at.offset);
    else
      last.send_to = owner(rail_, block_domain);
    last.finish = domains_ == 1;
    lane_.sum(contributions(group(), rank_, input(at.offset)), last);
  }

  // Adds up the own block over the domains; this domain's partial sum lies in the output.
  void reduce_between() {
    const Range at = block(rail_, domain_);
    std::vector<Summand> partials;
    for (int d = 0; d < domains_; ++d)
      partials.push_back(d == domain_ ? Summand::at(output(at.offset))
                                      : Summand::from(owner(rail_, d)));
    lane_.sum(partials, {.count = at.count, .target = output(at.offset), .finish = true});
  }

  // The ring of domains on this rail: hop 0 is the own block's start, the last hop its end.
  void pass_on(int block_domain, int hop) {
    const Range at = block(rail_, block_domain);
    const int next = owner(rail_, (domain_ + 1) % domains_);
    const int previous = owner(rail_, (domain_ + domains_ - 1) % domains_);
    if (hop == 0) {
      if (domains_ > 1)
        lane_.add({.count = at.count, .source = output(at.offset), .send_to = next});
      return;
    }
    lane_.add({.count = at.count,
               .recv_from = previous,
               .target = output(at.offset),
               .send_to = hop < domains_ - 1 ? next : kNoPeer});
  }

  void give_inside(int block_domain) {
    const Range at = block(rail_, block_domain);
    for (const int peer : peers_after(group(), rank_))
      lane_.add({.count = at.count, .source = output(at.offset), .send_to = peer});
  }

  void take_inside(int block_domain) {
    for (const int peer : peers_after(owners_, rank_)) {
      const Range at = block(rail_of(peer), block_domain);
      lane_.add({.count = at.count, .recv_from = peer, .target = output(at.offset)});
    }
  }

  int rail_of(int peer) const {
    return static_cast<int>(std::find(owners_.begin(), owners_.end(), peer) - owners_.begin());
  }

  LaneDraft lane_;
  int rank_;
  int domain_;
  int domains_;
  Range part_;
  int rails_ = 0;
  int rail_ = -1;  // of this rank; -1: it owns nothing
  std::vector<std::vector<int>> members_;
  std::vector<int> owners_;  // of this domain, by rail
};

}  // namespace

Plan all_reduce_hierarchical(const PlanContext& context) {
  Draft draft(context);
  for (int l = 0; l < draft.lane_count(); ++l) LaneWriter(context, draft.lane(l)).write();
  // Three domains or more pass blocks on in a ring, where every owner takes and gives in one step.
  return draft.finish(context.topology.domain_count() > 2 ? 2 : 1);
}

}  // namespace strait
