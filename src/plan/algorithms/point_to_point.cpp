// Send and receive: one lane, so that a rank that waits for many peers needs one link for each.
//
//   input (sender) ──> output (receiver)        1 step, count elements on the wire
#include "plan/planners.hpp"

namespace strait {
namespace {

Plan one_step(const PlanContext& context, const Step& step) {
  Choice single = context.choice;
  single.lanes = 1;
  Draft draft({context.request, context.topology, single, context.rank});
  draft.lane(0).add(step);
  return draft.finish(1);
}

}  // namespace

Plan send_point_to_point(const PlanContext& context) {
  return one_step(
      context,
      {.count = context.request.count, .source = input(0), .send_to = context.request.root});
}

Plan receive_point_to_point(const PlanContext& context) {
  return one_step(
      context,
      {.count = context.request.count, .recv_from = context.request.root, .target = output(0)});
}

}  // namespace strait
