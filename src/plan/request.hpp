// Request: one collective as the caller asked for it, without memory. A value, equal on all ranks
// of the call except for send and receive (whose `root` is the peer). Counts are elements and mean
// what NCCL's counts mean.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/algorithms.hpp"
#include "base/types.hpp"

namespace strait {

enum class Collective : uint8_t {
  kAllReduce,
  kReduce,
  kBroadcast,
  kAllGather,      // count: elements each rank sends
  kReduceScatter,  // count: elements each rank receives
  kAllToAll,       // count: elements for each peer
  kGather,         // count: elements each rank sends
  kScatter,        // count: elements each rank receives
  kSend,
  kReceive,
};
inline constexpr int kCollectiveCount = 10;

// What the caller of one call leaves to the library's choice.
struct Limits {
  AlgorithmSet algorithms;
  bool insists = false;  // it is an error if the collective has none of the algorithms
  int lanes_min = 0;     // 0: no bound
  int lanes_max = 0;     // 0: no bound; wins over lanes_min

  auto operator<=>(const Limits&) const = default;
};

struct Request {
  Collective collective = Collective::kAllReduce;
  DataType type = DataType::kFloat32;
  ReduceKind reduce = ReduceKind::kSum;
  uint64_t count = 0;
  int root = 0;  // root of rooted collectives; peer of send and receive
  Limits limits = {};

  bool operator==(const Request&) const = default;
};

std::string_view name_of(Collective collective);  // "all_reduce", "all_gather", ...
std::optional<Collective> parse_collective(std::string_view name);
bool reduces(Collective collective);            // all_reduce, reduce, reduce_scatter
bool is_point_to_point(Collective collective);  // send, receive

// Elements of the input and output buffer of `rank`; 0 where NCCL ignores the buffer (reduce's
// output off root, ...).
uint64_t input_count(const Request& request, int rank, int rank_count);
uint64_t output_count(const Request& request, int rank, int rank_count);

// Where an in-place call has its input relative to its output: element `input_offset` of the output
// buffer is element 0 of the input (or, negative, the output starts inside the input), as NCCL
// defines it for each collective. Where a rank has only one of the two buffers (off root, send,
// receive) it is 0: equal pointers do no harm there. nullopt: in place is not supported
// (all_to_all).
std::optional<int64_t> in_place_offset(const Request& request, int rank, int rank_count);

}  // namespace strait
