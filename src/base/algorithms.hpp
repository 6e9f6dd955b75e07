// The ways in which a collective can move data, by name, and what people allow of them: a list as
// "ring,tree" or "^tree", or lists by function as in NCCL_ALGO: "ring;allreduce:tree,two_shot".
// Values; any thread; parsing costs what the text costs.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string_view>

#include "base/status.hpp"

namespace strait {

enum class Algorithm : uint8_t {
  kRing,
  kTree,          // double binary tree
  kOneShot,       // direct: every rank sends everything to everyone
  kTwoShot,       // direct: each shard's owner collects, reduces, gives back
  kDirect,        // direct for rooted collectives and all-to-all: one hop
  kHierarchical,  // two levels: domain, between domains per rail, domain
  kPointToPoint,
};
inline constexpr int kAlgorithmCount = 7;

std::string_view name_of(Algorithm algorithm);

// Which algorithms may be used; made of none, all of them.
struct AlgorithmSet {
  static constexpr uint8_t kAll = (1 << kAlgorithmCount) - 1;

  uint8_t bits = kAll;

  bool all() const { return bits == kAll; }
  bool holds(Algorithm algorithm) const { return (bits >> static_cast<int>(algorithm) & 1) != 0; }
  auto operator<=>(const AlgorithmSet&) const = default;
};

// A list of names, "^" before it for all but those; "" and "auto" allow all. Names are ours and
// NCCL's, in any case and with NCCL's protocol behind ("ring_simple"); what NCCL has and a host has
// not ("nvls") is known and allows nothing.
Result<AlgorithmSet> parse_algorithms(std::string_view list);

// What lists by function allow to one of them ("all_reduce"; NCCL writes "allreduce"). A list
// without a function is for all that have none of their own.
Result<AlgorithmSet> algorithms_for(std::string_view function, std::string_view lists);
// The failure of any of the lists.
Status check_algorithms(std::string_view lists);

}  // namespace strait
