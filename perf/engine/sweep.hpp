// Sweep: the tests a command line asks for, in nccl-tests' order: types, operations, roots, and
// sizes innermost. Pure.
#pragma once

#include <algorithm>

#include "perf/options.hpp"

namespace strait::perf {

struct Test {
  DataType type = DataType::kFloat32;
  ReduceKind kind = ReduceKind::kSum;
  int root = 0;
  uint64_t elements = 0;
};

// with_kinds, with_roots: false where the collective has none, so that -o or -r make no difference.
inline std::vector<Test> make_sweep(const Options& options, int ranks, bool with_kinds,
                                    bool with_roots) {
  std::vector<int> roots = {options.root};
  if (with_roots && options.root < 0) {
    roots.clear();
    for (int root = 0; root < ranks; ++root) roots.push_back(root);
  }
  const std::vector<ReduceKind> kinds =
      with_kinds ? options.kinds : std::vector<ReduceKind>{ReduceKind::kSum};
  std::vector<Test> tests;
  for (const DataType type : options.types)
    for (const ReduceKind kind : kinds)
      for (const int root : roots)
        for (int64_t bytes = options.min_bytes; bytes <= options.max_bytes;) {
          tests.push_back({type, kind, root, static_cast<uint64_t>(bytes) / size_of(type)});
          if (bytes == options.max_bytes) break;
          const bool last =
              options.step_factor > 0
                  ? bytes > options.max_bytes / options.step_factor
                  : bytes > options.max_bytes - std::max<int64_t>(options.step_bytes, 1);
          if (last) break;
          bytes =
              options.step_factor > 0 ? bytes * options.step_factor : bytes + options.step_bytes;
        }
  return tests;
}

}  // namespace strait::perf
