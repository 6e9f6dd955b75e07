// CallOrder: keeps calls on one GPU one behind the other, whatever streams they are given, plain or
// captured: each waits for the event of the one before and records its own. A communicator has one
// for its calls; those that keep the host's launch order (LAUNCH_ORDER_IMPLICIT) share one per GPU,
// so that no two of them can wait for each other's place on it. One call at a time, under lock();
// costs two calls of the driver.
#pragma once

#include <memory>
#include <mutex>

#include "base/cuda/capture.hpp"
#include "base/cuda/context.hpp"
#include "base/cuda/event.hpp"

namespace strait {

class CallOrder {
 public:
  static Result<std::shared_ptr<CallOrder>> create(const cuda::Driver& driver, int device);
  // That of the GPU, in this process; it lives as long as anybody uses it.
  static Result<std::shared_ptr<CallOrder>> of_device(const cuda::Driver& driver, int device);

  explicit CallOrder(cuda::PrimaryContext context) : context_(std::move(context)) {}

  // From follow() to become_last().
  [[nodiscard]] std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }
  // What the stream gets from now on waits for the last call.
  Status follow(const cuda::Capture& capture, cuda::StreamHandle stream) const;
  Status become_last(const cuda::Capture& capture, cuda::StreamHandle stream);
  // The last call has ended.
  Result<bool> is_past() const { return last_.is_past(); }

 private:
  cuda::PrimaryContext context_;
  std::mutex mutex_;
  cuda::Event last_;           // the end of the last call, plain or replayed
  cuda::Event captured_last_;  // of the last one in the graph that is being captured
  uint64_t captured_id_ = 0;   // of that capture
};

}  // namespace strait
