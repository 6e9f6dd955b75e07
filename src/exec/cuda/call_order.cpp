#include "exec/cuda/call_order.hpp"

#include <map>

namespace strait {

Result<std::shared_ptr<CallOrder>> CallOrder::create(const cuda::Driver& driver, int device) {
  STRAIT_ASSIGN(auto context, cuda::PrimaryContext::retain(driver, device));
  const cuda::ContextHandle handle = context.get();
  auto made = std::make_shared<CallOrder>(std::move(context));
  STRAIT_ASSIGN(made->last_, cuda::Event::create(driver, handle));
  STRAIT_ASSIGN(made->captured_last_, cuda::Event::create(driver, handle));
  return made;
}

Result<std::shared_ptr<CallOrder>> CallOrder::of_device(const cuda::Driver& driver, int device) {
  static std::mutex& mutex = *new std::mutex;  // engines may outlive static objects
  static auto& all = *new std::map<int, std::weak_ptr<CallOrder>>;
  const std::lock_guard lock(mutex);
  if (auto known = all[device].lock()) return known;
  STRAIT_ASSIGN(auto made, create(driver, device));
  all[device] = made;
  return made;
}

// A stream's handle does not tell whether it is the one of the last call: handles are used again,
// and that of the per-thread stream names many.
Status CallOrder::follow(const cuda::Capture& capture, cuda::StreamHandle stream) const {
  if (!capture.active) return last_.hold_back(stream);
  return captured_id_ == capture.id ? captured_last_.hold_back(stream)
                                    : last_.hold_back_inside(stream);
}

Status CallOrder::become_last(const cuda::Capture& capture, cuda::StreamHandle stream) {
  if (!capture.active) return last_.record(stream);
  captured_id_ = capture.id;
  STRAIT_TRY(last_.record_outside(stream));
  return captured_last_.record(stream);
}

}  // namespace strait
