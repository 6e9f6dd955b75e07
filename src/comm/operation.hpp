// Operation: one call on one communicator, ready to be carried out: what, where, and with which
// arithmetic. A value.
#pragma once

#include "exec/reduce.hpp"
#include "plan/request.hpp"

namespace strait {

struct Operation {
  Request request;
  Arithmetic arithmetic;
  const void* input = nullptr;
  void* output = nullptr;
};

// The scalar of a pre-mul-sum (one element of the request's type) is copied now; null for the other
// reductions.
inline Operation make_operation(const Request& request, int rank_count, const void* scalar,
                                const void* input, void* output) {
  return {.request = request,
          .arithmetic = make_arithmetic(request.type, request.reduce, rank_count, scalar),
          .input = input,
          .output = output};
}

}  // namespace strait
