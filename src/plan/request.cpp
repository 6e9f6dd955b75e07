#include "plan/request.hpp"

#include <array>

namespace strait {
namespace {

constexpr std::array<std::string_view, kCollectiveCount> kNames = {
    "all_reduce", "reduce", "broadcast", "all_gather", "reduce_scatter",
    "all_to_all", "gather", "scatter",   "send",       "receive"};

}  // namespace

std::string_view name_of(Collective collective) {
  return kNames[static_cast<size_t>(collective)];
}

std::optional<Collective> parse_collective(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<Collective>(i);
  return std::nullopt;
}

bool reduces(Collective collective) {
  return collective == Collective::kAllReduce || collective == Collective::kReduce ||
         collective == Collective::kReduceScatter;
}

bool is_point_to_point(Collective collective) {
  return collective == Collective::kSend || collective == Collective::kReceive;
}

uint64_t input_count(const Request& request, int rank, int rank_count) {
  const uint64_t ranks = static_cast<uint64_t>(rank_count);
  switch (request.collective) {
    case Collective::kAllReduce:
    case Collective::kReduce:
    case Collective::kAllGather:
    case Collective::kGather:
    case Collective::kSend:
      return request.count;
    case Collective::kReduceScatter:
    case Collective::kAllToAll:
      return request.count * ranks;
    case Collective::kBroadcast:
      return rank == request.root ? request.count : 0;
    case Collective::kScatter:
      return rank == request.root ? request.count * ranks : 0;
    case Collective::kReceive:
      return 0;
  }
  return 0;
}

uint64_t output_count(const Request& request, int rank, int rank_count) {
  const uint64_t ranks = static_cast<uint64_t>(rank_count);
  switch (request.collective) {
    case Collective::kAllReduce:
    case Collective::kBroadcast:
    case Collective::kReduceScatter:
    case Collective::kScatter:
    case Collective::kReceive:
      return request.count;
    case Collective::kAllGather:
    case Collective::kAllToAll:
      return request.count * ranks;
    case Collective::kReduce:
      return rank == request.root ? request.count : 0;
    case Collective::kGather:
      return rank == request.root ? request.count * ranks : 0;
    case Collective::kSend:
      return 0;
  }
  return 0;
}

std::optional<int64_t> in_place_offset(const Request& request, int rank, int) {
  const int64_t own_slot = static_cast<int64_t>(request.count) * rank;
  switch (request.collective) {
    case Collective::kAllGather:
      return own_slot;
    case Collective::kReduceScatter:
      return -own_slot;
    case Collective::kGather:
      return rank == request.root ? own_slot : 0;
    case Collective::kScatter:
      return rank == request.root ? -own_slot : 0;
    case Collective::kAllToAll:
      return std::nullopt;
    default:
      return 0;
  }
}

}  // namespace strait
