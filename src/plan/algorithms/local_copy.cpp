// Any collective of a single rank: its input is the result.
//
//   input ── finish? ──> output          1 step a lane, nothing on the wire
#include "plan/planners.hpp"

namespace strait {

Plan local_copy(const PlanContext& context) {
  Draft draft(context);
  for (int l = 0; l < draft.lane_count(); ++l) {
    LaneDraft lane = draft.lane(l);
    const Range part = lane.share({0, context.request.count});
    lane.add({.count = part.count,
              .source = input(part.offset),
              .target = output(part.offset),
              .finish = reduces(context.request.collective)});
  }
  return draft.finish(1);
}

}  // namespace strait
