// Draft: one rank's plan while a planner writes it. Drops steps with nothing to do, sets the wires
// by the topology and gives each lane the scratch it needs. Belongs to the planner that made it;
// one thread; costs what the plan's steps cost.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/choice.hpp"
#include "plan/plan.hpp"
#include "plan/request.hpp"
#include "topology/topology.hpp"

namespace strait {

struct Range {
  uint64_t offset = 0;  // elements
  uint64_t count = 0;
};

// Part `index` of `whole` cut into `parts` nearly equal parts; large parts start at multiples of
// kSplitUnit elements.
inline constexpr uint64_t kSplitUnit = 32;
Range split(Range whole, int parts, int index);
// The most elements that any part has.
uint64_t largest_part(uint64_t count, int parts);

inline Place input(uint64_t offset) {
  return {Buffer::kInput, offset};
}
inline Place output(uint64_t offset) {
  return {Buffer::kOutput, offset};
}

// What a planner is told: enough to write the plan of any rank.
struct PlanContext {
  const Request& request;
  const Topology& topology;
  const Choice& choice;
  int rank;

  int rank_count() const { return topology.rank_count(); }
  bool is_root() const { return rank == request.root; }
};

// One summand: what `peer` sends, or a local place.
struct Summand {
  int peer = kNoPeer;
  std::optional<Place> place = std::nullopt;

  static Summand from(int peer) { return {.peer = peer}; }
  static Summand at(Place place) { return {.peer = kNoPeer, .place = place}; }
};

class Draft;

class LaneDraft {
 public:
  LaneDraft(Draft& draft, int lane) : draft_(&draft), lane_(lane) {}

  int index() const { return lane_; }
  // This lane's share of a range.
  Range share(Range whole) const;
  void add(Step step);
  // Adds up the summands from first to last in a scratch accumulator, in that order whoever runs
  // it. `last` says how many elements and where the sum goes (target, send_to, finish); it becomes
  // the last step.
  void sum(const std::vector<Summand>& summands, Step last);

 private:
  Draft* draft_;
  int lane_;
};

class Draft {
 public:
  explicit Draft(const PlanContext& context);

  int lane_count() const { return static_cast<int>(plan_.lanes.size()); }
  LaneDraft lane(int index) { return LaneDraft(*this, index); }
  Plan finish(int slots_min);

 private:
  friend class LaneDraft;

  Wire wire_to(int peer) const;
  void lay_out_scratch();

  const Topology& topology_;
  Plan plan_;
};

}  // namespace strait
