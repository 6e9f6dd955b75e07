// The few layouts and results that collectives share, so that each program says only what is its
// own. Pure functions, any thread; no cost.
#pragma once

#include "perf/engine/collective.hpp"

namespace strait::perf {

// Elements of one rank's block where the size is that of all blocks: whole 16 bytes.
inline uint64_t block_elements(const Shape& shape) {
  const uint64_t block = shape.elements / static_cast<uint64_t>(shape.rank_count);
  return block - block % (16 / shape.element_bytes);
}

inline uint64_t blocks_elements(const Shape& shape) {
  return block_elements(shape) * static_cast<uint64_t>(shape.rank_count);
}

// Where a rank's block lies among all blocks.
inline uint64_t block_first(const Shape& shape, int rank) {
  return block_elements(shape) * static_cast<uint64_t>(rank);
}

inline bool at_root(const Shape& shape) {
  return shape.rank == shape.root;
}

// Every rank sends and receives the whole size, in place at the same address.
inline Layout whole_layout(const Shape& shape) {
  return {shape.elements, shape.elements, shape.elements, shape.elements};
}

// Every rank sends its block and receives all; in place it sends from its place among them.
inline Layout gathering_layout(const Shape& shape) {
  const uint64_t block = block_elements(shape), all = blocks_elements(shape);
  return {block, all, block, all, block_first(shape, shape.rank), 0};
}

// The sum of all inputs.
inline std::vector<Piece> whole_sum(const Shape& shape) {
  return {{Piece::kEveryRank, 0, 0, shape.elements}};
}

// Every rank's input, one behind the other.
inline std::vector<Piece> all_blocks(const Shape& shape) {
  std::vector<Piece> pieces;
  for (int from = 0; from < shape.rank_count; ++from)
    pieces.push_back({from, 0, block_first(shape, from), block_elements(shape)});
  return pieces;
}

inline double whole_factor(int) {
  return 1;
}
// All but the rank's own block crosses.
inline double others_factor(int rank_count) {
  return static_cast<double>(rank_count - 1) / rank_count;
}

}  // namespace strait::perf
