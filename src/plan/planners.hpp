// The table of algorithms: which planner writes the plan of a collective by an algorithm. A planner
// is a pure function in a file of its own (algorithms/); to add one, write it, declare it here and
// give it a row in planners.cpp. Any thread.
#pragma once

#include "plan/choice.hpp"
#include "plan/draft.hpp"

namespace strait {

// Two ranks or more; counts, root and rank are checked before.
using Planner = Plan (*)(const PlanContext&);

Plan all_reduce_ring(const PlanContext& context);
Plan all_reduce_tree(const PlanContext& context);
Plan all_reduce_one_shot(const PlanContext& context);
Plan all_reduce_two_shot(const PlanContext& context);
Plan all_reduce_hierarchical(const PlanContext& context);
Plan reduce_ring(const PlanContext& context);
Plan reduce_tree(const PlanContext& context);
Plan reduce_direct(const PlanContext& context);
Plan reduce_hierarchical(const PlanContext& context);
Plan broadcast_ring(const PlanContext& context);
Plan broadcast_tree(const PlanContext& context);
Plan broadcast_direct(const PlanContext& context);
Plan broadcast_hierarchical(const PlanContext& context);
Plan all_gather_ring(const PlanContext& context);
Plan all_gather_direct(const PlanContext& context);
Plan all_gather_hierarchical(const PlanContext& context);
Plan reduce_scatter_ring(const PlanContext& context);
Plan reduce_scatter_direct(const PlanContext& context);
Plan reduce_scatter_hierarchical(const PlanContext& context);
Plan all_to_all_direct(const PlanContext& context);
Plan gather_direct(const PlanContext& context);
Plan scatter_direct(const PlanContext& context);
Plan send_point_to_point(const PlanContext& context);
Plan receive_point_to_point(const PlanContext& context);
Plan local_copy(const PlanContext& context);  // any collective of a single rank

struct PlannerRow {
  Collective collective;
  Algorithm algorithm;
  Planner planner;
};
const std::vector<PlannerRow>& planner_rows();

// Null: the collective has no such algorithm.
Planner find_planner(Collective collective, Algorithm algorithm);

}  // namespace strait
