// ExactSource: pseudo-random inputs whose reduction is exact in every type, operation and order of
// addition, so a result is right or wrong bit for bit whatever the algorithm. Integers are any bits
// (sums wrap). For floats, each element belongs to a window of ranks, which moves with the
// element's index, small enough that nothing rounds:
//
//   sum, mulsum   in the window k * 2^e with |k| so small that all partial sums fit the
//   significand; elsewhere 0 avg           the same without signs, and a window of two ranks unless
//   dividing by the rank count is exact;
//                 what rounding remains stays within two units of the last place
//   prod          powers of two in the window, one rank's times 1.25, 1.5 or 1.75; elsewhere 1
//   min, max      any finite bits but -0
#pragma once

#include "perf/data/source.hpp"

namespace strait::perf {

class ExactSource : public Source {
 public:
  void fill(const Problem& problem, int rank, uint64_t first, uint64_t count,
            std::byte* out) const override;
  bool exact_in_any_order() const override { return true; }
};

}  // namespace strait::perf
