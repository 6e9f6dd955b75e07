#include "standin/door.hpp"

#include <unistd.h>

#include "standin/capture.hpp"
#include "standin/machine.hpp"

namespace strait::standin {
namespace {

bool works_anywhere(Call call) {
  return call == Call::cuInit || call == Call::cuDriverGetVersion || call == Call::cuGetErrorName;
}

}  // namespace

Visit::Visit(Call call) {
  if (inside_callback() && !works_anywhere(call)) {
    refusal_ = kNotPermitted;
    return;
  }
  // Read without the lock: a child of a fork finds whatever state the lock was in.
  if (!works_anywhere(call) && machine().process != getpid()) {
    refusal_ = kNotInitialized;
    return;
  }
  lock_ = std::unique_lock(machine().mutex);
  refusal_ = machine().faults.strike(kCallNames[static_cast<size_t>(call)]);
  if (refusal_ == 0) refusal_ = check_unsafe_call(call);
}

}  // namespace strait::standin
