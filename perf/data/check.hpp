// check_result: holds a result against what it must be, element by element. A pure function, any
// thread.
#pragma once

#include <string>

#include "perf/data/reference.hpp"

namespace strait::perf {

struct Mismatch {
  uint64_t wrong = 0;  // elements
  std::string first;   // "element 17 of 1024: got 1.5 (0x3fc0), expected 2 (0x4000)"
};

// `first` is the index of the first element of both within the whole reduction.
Mismatch check_result(const Reference& reference, const Problem& problem, uint64_t first,
                      uint64_t count, const std::byte* result, const std::byte* expected);

// The same bit for bit, for collectives that only move data.
Mismatch check_bytes(DataType type, uint64_t count, const std::byte* result,
                     const std::byte* expected);

}  // namespace strait::perf
