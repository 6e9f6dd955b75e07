// Provenance: where an element comes from, the value the verifier moves instead of bytes.
// Neighbouring elements with neighbouring origins are kept as one run, so the cost depends on how a
// plan cuts the data, not on how much there is. Each verification owns its own; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/status.hpp"

namespace strait {

// Sets of ranks by number, so that values compare and copy cheaply.
class RankSets {
 public:
  using Id = uint32_t;

  explicit RankSets(int rank_count) : rank_count_(rank_count) {}
  Id single(int rank);
  Id all();
  // nullopt: some rank is in both.
  std::optional<Id> unite(Id a, Id b);
  std::string describe(Id id) const;  // "{0-2,5}"

 private:
  using Bits = std::vector<bool>;
  Id intern(const Bits& bits);

  int rank_count_;
  std::vector<Bits> sets_;
  std::map<Bits, Id> known_;
  std::unordered_map<uint64_t, Id> unions_;  // by both operands
};

struct Origin {
  uint64_t index = 0;      // in the contributors' inputs
  RankSets::Id ranks = 0;  // whose contributions are in it, each once
  bool raw = false;        // the caller's memory as it was before the call
  bool finished = false;   // the complete reduction

  Origin advanced(uint64_t elements) const;
  bool operator==(const Origin&) const = default;
};

// `count` elements; the k-th has the origin `first` moved on by k.
struct Run {
  uint64_t count = 0;
  Origin first;
};
using Runs = std::vector<Run>;

// Joins neighbours; appends only.
void append(Runs& runs, const Run& run);

// Element by element: both must be of the same index, with no contribution in both.
Result<Runs> combine(RankSets& sets, const Runs& a, const Runs& b);
// Marks as complete; they must hold every rank's contribution.
Status finish(RankSets& sets, Runs& runs);

// What lies at each address of one rank's memory.
class ElementMap {
 public:
  void write(uint64_t address, const Runs& runs);
  // The failure is the first address where nothing has ever been written.
  struct Gap {
    uint64_t address;
  };
  std::optional<Gap> read(uint64_t address, uint64_t count, Runs& runs) const;

 private:
  void cut(uint64_t address);
  std::map<uint64_t, Run> runs_;  // by address, disjoint
};

}  // namespace strait
