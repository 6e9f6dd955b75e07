// fill_expected: what a rank must receive, from the pieces its collective says it is made of. A
// pure function, any thread; costs one pass over the inputs of the pieces.
#pragma once

#include "perf/data/reference.hpp"
#include "perf/engine/collective.hpp"

namespace strait::perf {

// Elements [first, first + count) of what `pieces` make up; what no piece covers is left alone.
void fill_expected(const Reference& reference, const Problem& problem,
                   const std::vector<Piece>& pieces, uint64_t first, uint64_t count,
                   std::byte* out);

}  // namespace strait::perf
