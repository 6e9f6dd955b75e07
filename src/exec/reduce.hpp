// The arithmetic of reductions on host memory: out = finish(first op second), element by element,
// vectorised with run-time dispatch. Operands are elements of the request's type ("narrow", as in
// user buffers and on the wire) or partial sums
// ("wide": fp32 for 16- and 8-bit floats; the type itself for the others). 16- and 8-bit floats are
// computed in fp32 and rounded once (to nearest even) when written narrow. Pure functions, any
// thread, any alignment, operands may be the same memory as the output (exactly equal pointers) and
// must not overlap otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/types.hpp"

namespace strait {

enum class Form : uint8_t { kNarrow, kWide };

struct Operand {
  const void* data = nullptr;  // null: absent
  Form form = Form::kNarrow;
  bool scaled = false;  // the rank's own input: multiplied by Arithmetic::scale as it is read
};

struct Output {
  void* data = nullptr;
  Form form = Form::kNarrow;
};

// What to do with values of one request.
struct Arithmetic {
  DataType type = DataType::kFloat32;
  ReduceKind kind = ReduceKind::kSum;
  bool has_scale =
      false;  // avg of floats (1/ranks) and pre-mul-sum: operands marked `scaled` are multiplied
  double scale_float = 1.0;    // for floats
  uint64_t scale_integer = 1;  // for integers (pre-mul-sum), modulo 2^bits
  uint64_t divisor = 1;        // finish: avg of integers divides the sum (towards zero)
};

// Makes the arithmetic of a request: avg becomes a scale for floats and a divisor for integers.
// `scalar` points to one element of `type` and is read for pre-mul-sum only.
Arithmetic make_arithmetic(DataType type, ReduceKind kind, int rank_count, const void* scalar);

// out_i = finish ? post(a_i op b_i) : a_i op b_i. `second` may be absent: then the value of `first`
// is converted (and scaled) only.
void combine(const Arithmetic& arithmetic, const Output& out, const Operand& first,
             const Operand& second, bool finish, size_t count);

// out = finish(o_0 op o_1 op ...), the same bits as combining one after another into a wide partial
// sum, in one pass. At least one operand, each present; `out` may be the same memory as one of them
// (then in its form).
void combine_many(const Arithmetic& arithmetic, const Output& out,
                  std::span<const Operand> operands, bool finish, size_t count);

}  // namespace strait
