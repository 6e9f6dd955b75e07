// Sends and receives of a rank with itself: they pair within their batch, in order, and become
// copies that whoever runs the batch makes. Pure functions; any thread; one small allocation.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "comm/operation.hpp"

namespace strait {

struct SelfCopy {
  void* target;
  const void* source;
  size_t bytes;
};

inline bool is_to_self(const Request& request, int rank) {
  return is_point_to_point(request.collective) && request.root == rank;
}

// What must be copied; copies onto the place itself are left out.
Result<std::vector<SelfCopy>> copies_to_self(std::span<const Operation> operations, int rank);

}  // namespace strait
