// Reference: what a reduction must give, computed straightforwardly from all ranks' inputs in the
// documented order of addition: in each domain over its ranks in ascending order, rounded to the
// type; then over the domains in ascending order, rounded once more. 16- and 8-bit floats are added
// in fp32. Immutable once made; any thread. Costs one pass over all ranks' inputs per call.
#pragma once

#include <vector>

#include "perf/data/source.hpp"

namespace strait::perf {

// How a result is held against the reference.
enum class Match {
  kBits,      // bit for bit
  kTwoUlps,   // within two units of the last place: an average whose division rounds
  kAnyOrder,  // within what another order of addition may change
};

class Reference {
 public:
  // domain_of[rank]: the rank's domain. any_order: the library was told to use an algorithm with
  // another order.
  Reference(const Source& source, std::vector<int> domain_of, bool any_order)
      : source_(source), domain_of_(std::move(domain_of)), any_order_(any_order) {}

  const Source& source() const { return source_; }
  Match match(const Problem& problem) const;
  // Elements [first, first + count) of the complete reduction.
  void reduce(const Problem& problem, uint64_t first, uint64_t count, std::byte* out) const;
  // sum |x| over the ranks of the same elements, the scale of kAnyOrder; as doubles.
  std::vector<double> magnitudes(const Problem& problem, uint64_t first, uint64_t count) const;

 private:
  const Source& source_;
  std::vector<int> domain_of_;
  bool any_order_;
};

}  // namespace strait::perf
