// Event: a moment in a stream, for ordering streams or for measuring. Movable, one owner; record
// and wait from any thread, one at a time.
#pragma once

#include "base/clock.hpp"
#include "base/cuda/owned.hpp"

namespace strait::cuda {

class Event {
 public:
  enum class Use { kOrder, kTime };  // kTime costs a little more on the device

  Event() = default;
  static Result<Event> create(const Driver& driver, ContextHandle context, Use use = Use::kOrder);

  // The stream is one of the event's context.
  Status record(StreamHandle stream) const;
  // What the stream gets from now on waits for the record; the stream may be of another device.
  Status hold_back(StreamHandle stream) const;
  // The same of a stream that is captured, for each replay: the record is seen outside the graph,
  // and what was recorded outside is waited for.
  Status record_outside(StreamHandle captured) const;
  Status hold_back_inside(StreamHandle captured) const;
  // True before the first record too.
  Result<bool> is_past() const;
  Status wait_past(Deadline deadline) const;
  // Nanoseconds from this one to a later one; both are kTime and past.
  Result<double> ns_to(const Event& later) const;

  EventHandle get() const { return event_.get(); }

 private:
  Owned<EventHandle> event_;
};

}  // namespace strait::cuda
