// Source: what every rank's input holds. Any process can make any part of any rank's input, so
// results can be checked without moving inputs about. Sources are immutable once made; fill() may
// be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/status.hpp"
#include "base/types.hpp"

namespace strait::perf {

// What one test reduces: the type and operation decide which inputs can be checked exactly.
struct Problem {
  DataType type = DataType::kFloat32;
  ReduceKind kind = ReduceKind::kSum;
  int rank_count = 1;
};

class Source {
 public:
  virtual ~Source() = default;
  // Elements [first, first + count) of the rank's input. An element is the same however it is asked
  // for.
  virtual void fill(const Problem& problem, int rank, uint64_t first, uint64_t count,
                    std::byte* out) const = 0;
  // True where every order of addition gives the same bits, so that the result is known without
  // knowing the algorithm.
  virtual bool exact_in_any_order() const { return false; }
  // An error where there is no data of this type.
  virtual Status supports(DataType) const { return {}; }
};

// "random", "normal", "zeros" or the path of a safetensors file.
Result<std::unique_ptr<Source>> make_source(const std::string& data);

// The factor rank `rank` multiplies its input with before a mulsum: 1 or 2 by its parity.
inline int premultiplier(int rank) {
  return 1 + rank % 2;
}

// A 64-bit hash of a position: the one source of randomness.
inline uint64_t mix(uint64_t stream, uint64_t index) {
  uint64_t x = (stream + 1) * 0x9e3779b97f4a7c15u ^ (index + 1) * 0xd1342543de82ef95u;
  x = (x ^ (x >> 32)) * 0xbea225f9eb34556du;
  x = (x ^ (x >> 29)) * 0xbea225f9eb34556du;
  return x ^ (x >> 32);
}

}  // namespace strait::perf
