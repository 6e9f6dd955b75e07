#include "plan/draft.hpp"

#include <algorithm>
#include <utility>

namespace strait {

Range split(Range whole, int parts, int index) {
  const uint64_t n = static_cast<uint64_t>(parts);
  const uint64_t i = static_cast<uint64_t>(index);
  // Small parts are balanced to the element, large ones to the unit (vectors and blocks of a codec
  // start even).
  const uint64_t unit = whole.count / n >= 16 * kSplitUnit ? kSplitUnit : 1;
  const uint64_t units = whole.count / unit;
  const auto start = [&](uint64_t part) {
    return part == n ? whole.count : unit * (part * (units / n) + std::min(part, units % n));
  };
  return {whole.offset + start(i), start(i + 1) - start(i)};
}

uint64_t largest_part(uint64_t count, int parts) {
  return std::max(split({0, count}, parts, 0).count, split({0, count}, parts, parts - 1).count);
}

Draft::Draft(const PlanContext& context) : topology_(context.topology) {
  plan_.rank = context.rank;
  plan_.rank_count = context.rank_count();
  plan_.lanes.resize(static_cast<size_t>(context.choice.lanes));
  for (Lane& lane : plan_.lanes) lane.piece = context.choice.piece;
}

Wire Draft::wire_to(int peer) const {
  return topology_.same_domain(plan_.rank, peer) ? Wire::kPlain : Wire::kCoded;
}

Plan Draft::finish(int slots_min) {
  plan_.slots_min = slots_min;
  lay_out_scratch();
  return std::move(plan_);
}

// Steps were written as if each lane had scratch of its own from 0 on.
void Draft::lay_out_scratch() {
  for (Lane& lane : plan_.lanes) {
    uint64_t held = 0;
    for (Step& step : lane.steps)
      for (std::optional<Place>* place : {&step.source, &step.addend, &step.target}) {
        if (!*place || (*place)->buffer != Buffer::kScratch) continue;
        held = std::max(held, std::min(lane.piece, step.count));
        (*place)->offset += plan_.scratch_count;
      }
    plan_.scratch_count += held;
  }
}

Range LaneDraft::share(Range whole) const {
  return split(whole, draft_->lane_count(), lane_);
}

void LaneDraft::add(Step step) {
  if (step.count == 0) return;
  if (step.recv_from != kNoPeer) step.recv_wire = draft_->wire_to(step.recv_from);
  if (step.send_to != kNoPeer) step.send_wire = draft_->wire_to(step.send_to);
  draft_->plan_.lanes[static_cast<size_t>(lane_)].steps.push_back(step);
}

void LaneDraft::sum(const std::vector<Summand>& summands, Step last) {
  if (last.count == 0) return;
  std::optional<Place> sum_so_far;
  for (size_t i = 0; i < summands.size(); ++i) {
    Step step;
    step.source = sum_so_far;
    const auto take = [&step](const Summand& summand) {
      if (summand.peer != kNoPeer)
        step.recv_from = summand.peer;
      else
        (step.source ? step.addend : step.source) = summand.place;
    };
    take(summands[i]);
    // The first step takes two summands at once unless both are still to arrive.
    if (i == 0 && summands.size() > 1 &&
        (summands[0].peer == kNoPeer || summands[1].peer == kNoPeer))
      take(summands[++i]);
    if (i + 1 == summands.size()) {
      step.target = last.target;
      step.send_to = last.send_to;
      step.finish = last.finish;
    } else {
      step.target = Place{Buffer::kScratch, 0};
      sum_so_far = step.target;
    }
    step.count = last.count;
    add(step);
  }
}

}  // namespace strait
