// What can be said of one rank's plan alone: every step is one of the shapes that executors know,
// stays inside the buffers, and lanes keep off what other lanes write. Pure functions; any thread;
// n log n in the steps.
#pragma once

#include "base/status.hpp"
#include "plan/placement.hpp"
#include "plan/plan.hpp"
#include "plan/request.hpp"

namespace strait {

// "rank 2, lane 0, step 3 (recv 1 -> output[4] x4)": where in a plan, for errors.
std::string step_place(int rank, size_t lane, size_t step, const Step& what);

Status check_plan(const Request& request, const Plan& plan, int rank, int rank_count,
                  const Placement& placement);

}  // namespace strait
