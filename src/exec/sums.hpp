// Sums: runs of steps that add up contributions in one scratch place, found once when a plan is
// bound, so that the executor can do the whole addition in one pass when the last contribution is
// there. It replaces the arithmetic of the run, not the plan: each step still waits for its own
// message in its own turn, and the sum has the same order and the same bits.
//
//     scratch = a;  scratch += b;  ...;  target = scratch + z     becomes     target = a + b + ...
//     + z
//
// What has to be decoded is added by itself, as it leaves the codec; the contributions before it
// are still one pass, into scratch.
//
// Messages stay in their slots until the last step, one per link; so a run is folded only on links
// with a slot to spare.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/plan.hpp"

namespace strait {

enum class SumRole : uint8_t {
  kAlone,  // not part of a folded run
  kPart,   // contributes, leaves the arithmetic to the last
  kLast,   // adds up everything
};

// The role of each step of a lane, in order.
std::vector<SumRole> find_sums(const Lane& lane);

}  // namespace strait
