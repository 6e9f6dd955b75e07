#include "exec/sums.hpp"

#include <algorithm>

namespace strait {
namespace {

bool is_scratch(const std::optional<Place>& place) {
  return place && place->buffer == Buffer::kScratch;
}

bool receives_coded(const Step& step) {
  return step.recv_from != kNoPeer && step.recv_wire == Wire::kCoded;
}

// Starts a sum: puts contributions from elsewhere into scratch and nowhere else.
bool starts(const Step& step) {
  return is_scratch(step.target) && step.send_to == kNoPeer && !step.finish &&
         !is_scratch(step.source) && !is_scratch(step.addend) && !receives_coded(step);
}

// Goes on with the sum in `sum` by exactly one more contribution.
bool continues(const Step& step, const Place& sum, uint64_t count) {
  const bool one_more = (step.recv_from != kNoPeer) != step.addend.has_value();
  return step.source == sum && step.count == count && one_more && !is_scratch(step.addend) &&
         !receives_coded(step);
}

// Takes the sum up to here out of scratch, adding what has to be decoded first.
bool adds_coded(const Step& step, const Place& sum, uint64_t count) {
  return step.source == sum && step.count == count && receives_coded(step) && !step.addend;
}

// The number of steps from `begin` on that form one sum, or that part of a sum which comes before a
// coded contribution; or 0.
size_t run_length(const Lane& lane, size_t begin) {
  const Step& first = lane.steps[begin];
  if (!starts(first)) return 0;
  std::vector<int> peers = {first.recv_from};
  for (size_t i = begin + 1; i < lane.steps.size(); ++i) {
    const Step& step = lane.steps[i];
    if (adds_coded(step, *first.target, first.count)) return i - begin;
    if (!continues(step, *first.target, first.count)) return 0;
    // One message of a link at a time: a second could not arrive while the first keeps its slot.
    if (step.recv_from != kNoPeer && std::ranges::find(peers, step.recv_from) != peers.end())
      return 0;
    peers.push_back(step.recv_from);
    if (step.target != first.target) return is_scratch(step.target) ? 0 : i - begin + 1;
    if (step.send_to != kNoPeer || step.finish) return 0;
  }
  return 0;
}

}  // namespace

std::vector<SumRole> find_sums(const Lane& lane) {
  std::vector<SumRole> roles(lane.steps.size(), SumRole::kAlone);
  for (size_t i = 0; i < lane.steps.size(); ++i) {
    const size_t length = run_length(lane, i);
    if (length < 2) continue;
    std::fill_n(roles.begin() + static_cast<std::ptrdiff_t>(i), length - 1, SumRole::kPart);
    roles[i + length - 1] = SumRole::kLast;
    i += length - 1;
  }
  // The parts of a folded sum never reach scratch: if any other step reads one there, nothing is
  // folded.
  bool in_scratch = true;
  for (size_t i = 0; i < lane.steps.size(); ++i) {
    const Step& step = lane.steps[i];
    const bool reads = is_scratch(step.source) || is_scratch(step.addend);
    if (roles[i] == SumRole::kAlone && reads && !in_scratch)
      return std::vector<SumRole>(lane.steps.size(), SumRole::kAlone);
    if (roles[i] == SumRole::kPart) in_scratch = false;
    if (roles[i] != SumRole::kPart && is_scratch(step.target)) in_scratch = true;
  }
  return roles;
}

}  // namespace strait
