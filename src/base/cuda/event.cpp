#include "base/cuda/event.hpp"

#include "base/cuda/patience.hpp"

namespace strait::cuda {

Result<Event> Event::create(const Driver& driver, ContextHandle context, Use use) {
  STRAIT_ASSIGN(const ContextScope scope, ContextScope::enter(driver, context));
  EventHandle handle = nullptr;
  STRAIT_TRY(driver.cuEventCreate(&handle, use == Use::kOrder ? kEventDisableTiming : 0U));
  Event event;
  event.event_ = {driver, context, handle, [](const Driver& owner, EventHandle mine) {
                    report_release("cuEventDestroy", owner.cuEventDestroy.code(mine));
                  }};
  return event;
}

Status Event::record(StreamHandle stream) const {
  return event_.driver().cuEventRecord(get(), stream);
}

Status Event::hold_back(StreamHandle stream) const {
  return event_.driver().cuStreamWaitEvent(stream, get(), 0);
}

Status Event::record_outside(StreamHandle captured) const {
  return event_.driver().cuEventRecordWithFlags(get(), captured, kEventRecordExternal);
}

Status Event::hold_back_inside(StreamHandle captured) const {
  return event_.driver().cuStreamWaitEvent(captured, get(), kEventWaitExternal);
}

Result<bool> Event::is_past() const {
  const int code = event_.driver().cuEventQuery.code(get());
  if (code == kSuccess || code == kNotReady) return code == kSuccess;
  return failure("cuEventQuery", code);
}

Status Event::wait_past(Deadline deadline) const {
  return wait_until([this] { return is_past(); }, deadline, "an event");
}

Result<double> Event::ns_to(const Event& later) const {
  float ms = 0;
  STRAIT_TRY(event_.driver().cuEventElapsedTime(&ms, get(), later.get()));
  return static_cast<double>(ms) * 1e6;
}

}  // namespace strait::cuda
