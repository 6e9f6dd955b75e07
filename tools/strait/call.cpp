#include "tools/strait/call.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.hpp"
#include "plan/planners.hpp"

namespace strait::tool {

uint64_t PlannedCall::bytes() const {
  const int ranks = topology.rank_count();
  // Off the root a rank may have only one of the two buffers.
  const int whose = one_sided() ? rank : request.root;
  return size_of(request.type) *
         std::max(input_count(request, whose, ranks), output_count(request, whose, ranks));
}

std::string PlannedCall::headline() const {
  return fmt::format("{} of {} {} ({}) on {}: {}, {} lane{}, pieces of {}: {}",
                     name_of(request.collective), request.count, name_of(request.type),
                     format_bytes(request.count * size_of(request.type)), format(topology),
                     name_of(choice.algorithm), choice.lanes, choice.lanes == 1 ? "" : "s",
                     format_bytes(choice.piece * size_of(request.type)), choice.reason);
}

Result<Plan> PlannedCall::plan(int of_rank) const {
  return make_plan(request, topology, choice, of_rank);
}

Result<std::vector<Call>> PlannedCall::calls() const {
  const int ranks = topology.rank_count();
  std::vector<Call> calls;
  for (int each = 0; each < ranks; ++each) {
    Request side = request;
    if (one_sided() && each == request.root) {
      const bool sends = request.collective == Collective::kSend;
      side.collective = sends ? Collective::kReceive : Collective::kSend;
      side.root = rank;
    } else if (one_sided() && each != rank) {
      side.count = 0;
      Plan idle;
      idle.rank = each;
      idle.rank_count = ranks;
      calls.push_back({side, idle});
      continue;
    }
    STRAIT_ASSIGN(Plan plan, make_plan(side, topology, choice, each));
    calls.push_back({side, std::move(plan)});
  }
  return calls;
}

Status prove(const PlannedCall& call) {
  if (!call.one_sided()) return verify_collective(call.request, call.topology, call.choice);
  STRAIT_ASSIGN(const std::vector<Call> calls, call.calls());
  return verify(calls, {});
}

}  // namespace strait::tool
