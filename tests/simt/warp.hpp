// The 32 lanes of a warp as the scheduler sees them, and what a warp operation makes of the values
// that the lanes brought. Owned by the block, used by its OS thread alone. Completing an operation
// is a loop over 32 lanes, done once by the lane that came last.
//
//   lane 0 comes, waits -> lane 1 comes, waits -> ... -> lane 31 comes: computes everybody's
//   result, goes on to its next operation, waits -> lane 0 takes its result, goes on, waits -> ...
//
// so that an operation costs one switch per lane, and nobody needs a second turn for it.
#pragma once

#include <cstdint>

#include "simt/here.hpp"

namespace strait::simt {

// What a lane gets from a lane that gave nothing.
inline constexpr uint64_t kUnset = 0xdeadbeefdeadbeef;

struct Warp {
  static constexpr uint32_t kLanes = 32;

  // Sets of lanes. Who is in none of the middle three, and has not ended, waits at a barrier or
  // runs.
  uint32_t present = 0;
  uint32_t ready = 0;
  uint32_t spinning = 0;  // ready again when others have had their turn
  uint32_t waiting = 0;   // in a warp operation
  uint32_t ended = 0;

  // What each waiting lane brought, and what it gets. A result stays until its lane's next
  // operation is complete, which cannot be before the lane has read it.
  alignas(64) uint32_t op[kLanes] = {};
  uint32_t mask[kLanes] = {};
  uint32_t argument[kLanes] = {};
  uint64_t value[kLanes] = {};
  uint64_t result[kLanes] = {};
};

const char* name_of(WarpOp op);

// Whether all present lanes of the mask brought this operation and this mask.
bool agree(const Warp& warp, WarpOp op, uint32_t mask);

// Gives each lane of the mask its result.
void complete(Warp& warp, WarpOp op, uint32_t mask);

}  // namespace strait::simt
