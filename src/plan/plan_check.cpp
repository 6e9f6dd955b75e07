#include "plan/plan_check.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "plan/text.hpp"

namespace strait {
namespace {

// Why a step by itself cannot be run; null if it can.
const char* flaw_of(const Step& step, const Request& request, int rank_count) {
  const bool receives = step.recv_from != kNoPeer;
  const bool sends = step.send_to != kNoPeer;
  const int operands = int{receives} + int{step.source.has_value()} + int{step.addend.has_value()};
  if (step.count == 0) return "has nothing to do";
  if (operands == 0) return "takes nothing";
  if (operands > 2) return "takes three operands; two can be combined";
  if (operands == 2 && !reduces(request.collective)) return "combines in a call without reduction";
  if (step.addend && !step.source) return "has an addend without a source";
  if (!step.target && !sends) return "puts its value nowhere";
  if (step.target && step.target->buffer == Buffer::kInput) return "writes the caller's input";
  if (step.finish && !reduces(request.collective)) return "finishes in a call without reduction";
  if (receives && (step.recv_from < 0 || step.recv_from >= rank_count))
    return "receives from a rank that does not exist";
  if (sends && (step.send_to < 0 || step.send_to >= rank_count))
    return "sends to a rank that does not exist";
  if (!receives && step.recv_wire != Wire::kPlain) return "codes what it does not receive";
  if (!sends && step.send_wire != Wire::kPlain) return "codes what it does not send";
  return nullptr;
}

struct Touch {
  uint64_t begin;
  uint64_t end;
  size_t lane;
  size_t step;
  bool writes;
};

// The elements a step touches at `place` over all rounds.
Touch touch_of(const Placement& placement, const Place& place, const Lane& lane, size_t lane_index,
               size_t step_index, bool writes) {
  const uint64_t count = lane.steps[step_index].count;
  const uint64_t begin = placement.address(place);
  const uint64_t held = place.buffer == Buffer::kScratch ? std::min(lane.piece, count) : count;
  return {begin, begin + held, lane_index, step_index, writes};
}

// Of all touches seen so far, the farthest-reaching one and the farthest-reaching one of any other
// lane.
class Reach {
 public:
  void add(const Touch& touch) {
    if (far_[0] != nullptr && far_[0]->lane == touch.lane) {
      if (touch.end > far_[0]->end) far_[0] = &touch;
    } else if (far_[0] == nullptr || touch.end > far_[0]->end) {
      far_[1] = far_[0];
      far_[0] = &touch;
    } else if (far_[1] == nullptr || touch.end > far_[1]->end) {
      far_[1] = &touch;
    }
  }
  // A touch of another lane than `touch`'s that reaches into it; null if there is none.
  const Touch* into(const Touch& touch) const {
    for (const Touch* far : far_)
      if (far != nullptr && far->lane != touch.lane && far->end > touch.begin) return far;
    return nullptr;
  }

 private:
  std::array<const Touch*, 2> far_ = {nullptr, nullptr};
};

Status check_lanes_apart(const Plan& plan, int rank, std::vector<Touch> touches) {
  std::sort(touches.begin(), touches.end(),
            [](const Touch& a, const Touch& b) { return a.begin < b.begin; });
  Reach any;
  Reach writes;
  for (const Touch& touch : touches) {
    if (const Touch* other = (touch.writes ? any : writes).into(touch)) {
      const auto place = [&](const Touch& at) {
        return step_place(rank, at.lane, at.step, plan.lanes[at.lane].steps[at.step]);
      };
      return error(Code::kInternalError, "{} and {} touch the same elements from two lanes",
                   place(touch), place(*other));
    }
    any.add(touch);
    if (touch.writes) writes.add(touch);
  }
  return {};
}

}  // namespace

std::string step_place(int rank, size_t lane, size_t step, const Step& what) {
  return fmt::format("rank {}, lane {}, step {} ({})", rank, lane, step, format(what));
}

Status check_plan(const Request& request, const Plan& plan, int rank, int rank_count,
                  const Placement& placement) {
  if (plan.rank != rank || plan.rank_count != rank_count)
    return error(Code::kInternalError, "the plan of rank {} of {} is for rank {} of {}", rank,
                 rank_count, plan.rank, plan.rank_count);
  if (plan.slots_min < 1)
    return error(Code::kInternalError, "rank {}: links need a slot, the plan asks for {}", rank,
                 plan.slots_min);
  std::vector<Touch> touches;
  for (size_t l = 0; l < plan.lanes.size(); ++l) {
    const Lane& lane = plan.lanes[l];
    if (lane.piece == 0)
      return error(Code::kInternalError, "rank {}, lane {}: pieces of 0 elements never end", rank,
                   l);
    for (size_t s = 0; s < lane.steps.size(); ++s) {
      const Step& step = lane.steps[s];
      if (const char* flaw = flaw_of(step, request, rank_count))
        return error(Code::kInternalError, "{} {}", step_place(rank, l, s, step), flaw);
      for (const std::optional<Place>* place : {&step.source, &step.addend, &step.target}) {
        if (!*place) continue;
        const Touch touch = touch_of(placement, **place, lane, l, s, place == &step.target);
        if (!placement.holds(**place, touch.end - touch.begin))
          return error(Code::kInternalError, "{} reaches past the end of a buffer",
                       step_place(rank, l, s, step));
        touches.push_back(touch);
      }
    }
  }
  return check_lanes_apart(plan, rank, std::move(touches));
}

}  // namespace strait
