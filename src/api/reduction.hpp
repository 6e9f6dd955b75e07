// From NCCL's reduction operations, built in or a user's, to a kind and its scalar. Looks only at
// the communicator's handle. Any thread.
#pragma once

#include <array>
#include <cstddef>

#include "api/handle.hpp"
#include "base/types.hpp"

namespace strait::api {

struct Reduction {
  ReduceKind kind;
  std::array<std::byte, 8> scalar;  // of a pre-mul-sum: one element
  const void* scalar_place;  // on a GPU: where it lies when the call runs; null: `scalar` holds it
};

// Refuses an operation that is neither built in nor made on this communicator, and a user's
// operation of another type. The user's scalar is read now.
Result<Reduction> find_reduction(int op, DataType type, Handle& handle);

}  // namespace strait::api
