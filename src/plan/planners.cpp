#include "plan/planners.hpp"

namespace strait {
namespace {

bool has_root(Collective collective) {
  switch (collective) {
    case Collective::kReduce:
    case Collective::kBroadcast:
    case Collective::kGather:
    case Collective::kScatter:
    case Collective::kSend:
    case Collective::kReceive:
      return true;
    default:
      return false;
  }
}

}  // namespace

const std::vector<PlannerRow>& planner_rows() {
  static const std::vector<PlannerRow> rows = {
      {Collective::kAllReduce, Algorithm::kRing, all_reduce_ring},
      {Collective::kAllReduce, Algorithm::kTree, all_reduce_tree},
      {Collective::kAllReduce, Algorithm::kOneShot, all_reduce_one_shot},
      {Collective::kAllReduce, Algorithm::kTwoShot, all_reduce_two_shot},
      {Collective::kAllReduce, Algorithm::kHierarchical, all_reduce_hierarchical},
      {Collective::kReduce, Algorithm::kRing, reduce_ring},
      {Collective::kReduce, Algorithm::kTree, reduce_tree},
      {Collective::kReduce, Algorithm::kDirect, reduce_direct},
      {Collective::kReduce, Algorithm::kHierarchical, reduce_hierarchical},
      {Collective::kBroadcast, Algorithm::kRing, broadcast_ring},
      {Collective::kBroadcast, Algorithm::kTree, broadcast_tree},
      {Collective::kBroadcast, Algorithm::kDirect, broadcast_direct},
      {Collective::kBroadcast, Algorithm::kHierarchical, broadcast_hierarchical},
      {Collective::kAllGather, Algorithm::kRing, all_gather_ring},
      {Collective::kAllGather, Algorithm::kDirect, all_gather_direct},
      {Collective::kAllGather, Algorithm::kHierarchical, all_gather_hierarchical},
      {Collective::kReduceScatter, Algorithm::kRing, reduce_scatter_ring},
      {Collective::kReduceScatter, Algorithm::kDirect, reduce_scatter_direct},
      {Collective::kReduceScatter, Algorithm::kHierarchical, reduce_scatter_hierarchical},
      {Collective::kAllToAll, Algorithm::kDirect, all_to_all_direct},
      {Collective::kGather, Algorithm::kDirect, gather_direct},
      {Collective::kScatter, Algorithm::kDirect, scatter_direct},
      {Collective::kSend, Algorithm::kPointToPoint, send_point_to_point},
      {Collective::kReceive, Algorithm::kPointToPoint, receive_point_to_point},
  };
  return rows;
}

Planner find_planner(Collective collective, Algorithm algorithm) {
  for (const PlannerRow& row : planner_rows())
    if (row.collective == collective && row.algorithm == algorithm) return row.planner;
  return nullptr;
}

Result<Plan> make_plan(const Request& request, const Topology& topology, const Choice& choice,
                       int rank) {
  const int ranks = topology.rank_count();
  if (rank < 0 || rank >= ranks)
    return error(Code::kInvalidArgument, "{}: rank {} is not one of {} ranks; give 0 to {}",
                 name_of(request.collective), rank, ranks, ranks - 1);
  if (has_root(request.collective) && (request.root < 0 || request.root >= ranks))
    return error(Code::kInvalidArgument, "{}: root or peer {} is not one of {} ranks; give 0 to {}",
                 name_of(request.collective), request.root, ranks, ranks - 1);
  if (choice.lanes < 1 || choice.piece < 1)
    return error(Code::kInvalidArgument,
                 "{}: {} lanes of pieces of {} elements move nothing; both must be 1 or more",
                 name_of(request.collective), choice.lanes, choice.piece);
  const Planner planner = find_planner(request.collective, choice.algorithm);
  if (planner == nullptr)
    return error(Code::kInvalidArgument, "{} has no algorithm {}; let STRAIT_ALGO be auto",
                 name_of(request.collective), name_of(choice.algorithm));
  const PlanContext context{request, topology, choice, rank};
  const bool alone = ranks == 1 && choice.algorithm != Algorithm::kPointToPoint;
  return alone ? local_copy(context) : planner(context);
}

}  // namespace strait
