#include "perf/engine/expected.hpp"

#include <algorithm>

namespace strait::perf {

void fill_expected(const Reference& reference, const Problem& problem,
                   const std::vector<Piece>& pieces, uint64_t first, uint64_t count,
                   std::byte* out) {
  for (const Piece& piece : pieces) {
    const uint64_t begin = std::max(first, piece.result_first);
    const uint64_t end = std::min(first + count, piece.result_first + piece.count);
    if (begin >= end) continue;
    const uint64_t source = piece.source_first + (begin - piece.result_first);
    std::byte* place = out + (begin - first) * size_of(problem.type);
    if (piece.from == Piece::kEveryRank)
      reference.reduce(problem, source, end - begin, place);
    else
      reference.source().fill(problem, piece.from, source, end - begin, place);
  }
}

}  // namespace strait::perf
