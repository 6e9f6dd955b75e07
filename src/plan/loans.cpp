#include "plan/loans.hpp"

#include "plan/placement.hpp"

namespace strait {
namespace {

// Some of their ranks send and take nothing: as through slots, they must be able to finish before
// the others have come, as long as all that they send fits the slots.
bool is_one_way(Collective collective) {
  switch (collective) {
    case Collective::kSend:
    case Collective::kReceive:
    case Collective::kBroadcast:
    case Collective::kReduce:
    case Collective::kGather:
    case Collective::kScatter:
      return true;
    case Collective::kAllReduce:
    case Collective::kAllGather:
    case Collective::kReduceScatter:
    case Collective::kAllToAll:
      return false;
  }
  return false;
}

// Whether a later step of the lane, of this round or another, writes to what `lender` has lent.
bool is_overwritten(const Lane& lane, size_t lender, const Place& lent, const Placement& at) {
  const uint64_t begin = at.address(lent);
  const uint64_t end = begin + lane.steps[lender].count;
  for (size_t i = 0; i < lane.steps.size(); ++i) {
    const Step& step = lane.steps[i];
    if (!step.target || step.target->buffer == Buffer::kScratch) continue;
    const uint64_t target = at.address(*step.target);
    if (target >= end || begin >= target + step.count) continue;
    // Before it in the same round, and in the same place of each round.
    if (i <= lender && target == begin) continue;
    return true;
  }
  return false;
}

}  // namespace

std::optional<Place> lendable(const Step& step, const Request& request) {
  if (step.send_to == kNoPeer || step.send_wire != Wire::kPlain) return std::nullopt;
  if (step.target) {
    if (step.target->buffer == Buffer::kScratch) return std::nullopt;
    return step.target;
  }
  // A sum's own part may be scaled, and a complete sum divided, on its way out.
  const bool changes = step.recv_from != kNoPeer || step.addend || step.finish;
  if (changes || !step.source || step.source->buffer == Buffer::kScratch) return std::nullopt;
  const bool scales =
      request.reduce == ReduceKind::kAvg || request.reduce == ReduceKind::kPreMulSum;
  if (reduces(request.collective) && scales && step.source->buffer == Buffer::kInput)
    return std::nullopt;
  return step.source;
}

Loans find_loans(const Request& request, const Plan& plan, const LoanTerms& terms) {
  const Placement apart = place_buffers(request, plan, plan.rank, plan.rank_count, false);
  const Placement together = place_buffers(request, plan, plan.rank, plan.rank_count, true);
  const auto loan_of = [&](const Lane& lane, size_t index) {
    const Step& step = lane.steps[index];
    const std::optional<Place> lent = lendable(step, request);
    if (!lent) return Loan::kNever;
    const auto rounds = static_cast<int64_t>((step.count + lane.piece - 1) / lane.piece);
    if (is_one_way(request.collective) && rounds <= terms.slots) return Loan::kNever;
    if (terms.overwrites) return Loan::kAlways;
    if (is_overwritten(lane, index, *lent, apart)) return Loan::kNever;
    return is_overwritten(lane, index, *lent, together) ? Loan::kApart : Loan::kAlways;
  };
  Loans loans;
  for (const Lane& lane : plan.lanes) {
    std::vector<Loan>& of_lane = loans.emplace_back();
    for (size_t i = 0; i < lane.steps.size(); ++i) of_lane.push_back(loan_of(lane, i));
  }
  return loans;
}

}  // namespace strait
