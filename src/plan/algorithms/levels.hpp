// Levels: the ranks as domains of ranks, as one of them sees it, and which rank of a domain carries
// which share of the data. A value that the two-level planners make for each lane; any thread.
#pragma once

#include <vector>

#include "topology/topology.hpp"

namespace strait {

inline constexpr int kNoShare = -1;

// Shares dealt out to the ranks of a domain, each lane going on where the one before stopped: in
// equal domains share i stays on rail i, in others the lanes even out what is left over. A turn
// deals one share per rail, so that no rank of any domain gets two of them.
class Deal {
 public:
  Deal(const std::vector<int>& ranks, int rails, int shares, int lane)
      : ranks_(ranks), rails_(rails), shares_(shares), first_(lane * shares % size()) {}

  int rank_of(int share) const { return ranks_[static_cast<size_t>((first_ + share) % size())]; }
  // What a rank of the domain gets in a turn, kNoShare for nothing.
  int share_of(int rank, int turn) const;

 private:
  int size() const { return static_cast<int>(ranks_.size()); }

  std::vector<int> ranks_;  // ascending
  int rails_;
  int shares_;
  int first_;  // the place of the rank that gets share 0
};

class Levels {
 public:
  Levels(const Topology& topology, int lane, int rank);

  int domain_count() const { return static_cast<int>(members_.size()); }
  int domain() const { return domain_; }  // of this rank
  // The domain that many behind this one, round and round.
  int behind(int steps) const;
  int next() const { return behind(domain_count() - 1); }
  int previous() const { return behind(1); }
  const std::vector<int>& members(int domain) const {  // ascending
    return members_[static_cast<size_t>(domain)];
  }
  const std::vector<int>& group() const { return members(domain_); }
  // The rank of this domain that many places behind this one (negative: further on), round and
  // round.
  int member_behind(int places) const;
  // As many as the smallest domain has ranks: so many can cross at once everywhere.
  int rail_count() const { return rails_; }
  // Turns until a share of every rank of any domain has been dealt.
  int turn_count() const { return turns_; }
  Deal deal(int shares, int domain) const { return {members(domain), rails_, shares, lane_}; }
  // One share for every rank of `owners`.
  Deal deal_blocks(int owners, int domain) const {
    return deal(static_cast<int>(members(owners).size()), domain);
  }

 private:
  std::vector<std::vector<int>> members_;
  int lane_;
  int domain_;
  int place_;  // of this rank in its domain
  int rails_;
  int turns_;
};

}  // namespace strait
