// Placement: one rank's input, output and scratch on one line of addresses (elements), so that
// in-place and out-of-place calls are checked by the same code: in place, input and output share
// addresses. A plain value; any thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "plan/plan.hpp"
#include "plan/request.hpp"

namespace strait {

struct Placement {
  uint64_t begin[3] = {0, 0, 0};  // by Buffer
  uint64_t count[3] = {0, 0, 0};

  uint64_t address(const Place& place) const {
    return begin[static_cast<size_t>(place.buffer)] + place.offset;
  }
  bool holds(const Place& place, uint64_t elements) const {
    const uint64_t size = count[static_cast<size_t>(place.buffer)];
    return place.offset <= size && elements <= size - place.offset;
  }
};

// In place only where the collective allows it.
inline Placement place_buffers(const Request& request, const Plan& plan, int rank, int rank_count,
                               bool in_place) {
  const uint64_t inputs = input_count(request, rank, rank_count);
  const uint64_t outputs = output_count(request, rank, rank_count);
  Placement placement{.begin = {0, inputs, 0}, .count = {inputs, outputs, plan.scratch_count}};
  if (in_place) {
    const int64_t offset = in_place_offset(request, rank, rank_count).value_or(0);
    placement.begin[0] = offset > 0 ? static_cast<uint64_t>(offset) : 0;
    placement.begin[1] = offset < 0 ? static_cast<uint64_t>(-offset) : 0;
  }
  placement.begin[2] = std::max(placement.begin[0] + inputs, placement.begin[1] + outputs);
  return placement;
}

}  // namespace strait
