// Operation: one call on one communicator, ready to be carried out: what, where, and with which
// arithmetic. A value.
#pragma once

#include "exec/reduce.hpp"
#include "plan/request.hpp"

namespace strait {

// What one call wants of the wires between domains, in place of the communicator's settings. Ranks
// may differ in it.
enum class CompressWish : uint8_t { kNone, kOff, kFast, kDense, kAuto };
enum class ChecksumWish : uint8_t { kNone, kOff, kOn };
struct WireWishes {
  CompressWish compress = CompressWish::kNone;
  ChecksumWish checksum = ChecksumWish::kNone;
};

struct Operation {
  Request request;
  Arithmetic arithmetic;
  const void* input = nullptr;
  void* output = nullptr;
  WireWishes wires = {};
  const void* scalar_place = nullptr;  // on a GPU: where the factor lies when the call runs
};

// The scalar of a pre-mul-sum (one element of the request's type) is copied now; null for the other
// reductions.
inline Operation make_operation(const Request& request, int rank_count, const void* scalar,
                                const void* input, void* output) {
  return {.request = request,
          .arithmetic = make_arithmetic(request.type, request.reduce, rank_count, scalar),
          .input = input,
          .output = output,
          .wires = {},
          .scalar_place = nullptr};
}

}  // namespace strait
