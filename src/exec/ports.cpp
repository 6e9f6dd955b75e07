#include "exec/ports.hpp"

#include <algorithm>
#include <thread>

#include "base/clock.hpp"

namespace strait {
namespace {

constexpr int64_t kReasonMs = 1000;

constexpr uint64_t kAlignment =
    64;  // elements: every lane's part starts on a cache line of its own

// A coded send whose value lies nowhere as it is on the wire: computed or widened, without a narrow
// target.
bool stages(const Step& step) {
  if (step.send_to == kNoPeer || step.send_wire != Wire::kCoded) return false;
  return !step.target || step.target->buffer == Buffer::kScratch;
}

}  // namespace

Status failure_of(const RecvLink& link) {
  const Deadline deadline = Deadline::after_ms(kReasonMs);
  Status status = link.status();
  while (status.ok() && !deadline.passed()) {
    std::this_thread::yield();
    status = link.status();
  }
  if (!status.ok()) return status;
  return error(Code::kRemoteError,
               "a peer gave up a link and did not say why within {} ms; look at the other ranks",
               kReasonMs);
}

void place_staging(BoundPlan& bound) {
  for (const Lane& lane : bound.plan.lanes) {
    uint64_t count = 0;
    for (const Step& step : lane.steps)
      if (stages(step)) count = std::max(count, std::min(step.count, lane.piece));
    bound.staging_offsets.push_back(bound.staging_count);
    bound.staging_count += (count + kAlignment - 1) / kAlignment * kAlignment;
  }
}

}  // namespace strait
