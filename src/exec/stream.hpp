// HostStream: the stream of a host device, a queue of tasks that its own thread (started by the
// first task) runs one after another, with the guarantees of a CUDA stream: a task starts when the
// one before it returned, what it wrote is seen by the next one and by whoever synchronized, and
// streams do not wait for each other unless joined. All functions may be called from any thread,
// also from a task (but a task cannot wait for its own stream). A task must not throw and must
// bound its own waits. Costs: one lock and one allocation a task; a thread a stream.
//
// Users hold streams as opaque handles. A handle is a number that is never given twice and is no
// address, so a stale or made-up handle is recognised instead of followed.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "base/clock.hpp"
#include "base/status.hpp"

namespace strait {

class HostStream {
 public:
  using Task = std::function<void()>;

  HostStream();
  ~HostStream();  // runs what is queued first
  HostStream(const HostStream&) = delete;
  HostStream& operator=(const HostStream&) = delete;

  // Fails only where the system has no thread left.
  Status enqueue(Task task);
  // Waits until everything enqueued before this call has returned.
  Status synchronize(Deadline deadline);
  // Everything enqueued so far has returned.
  bool idle() const;

 private:
  class Queue;
  friend Status enqueue_joined(std::span<const std::shared_ptr<HostStream>> streams, Task task);

  std::shared_ptr<Queue> queue_;  // shared with its thread and with joins under way
};

// Enqueues one task on several streams: it runs once, on the thread of one of them, when all have
// come to it, and none goes on before it returned. Joins are in one order on all streams they
// share, so two joins never wait for each other.
Status enqueue_joined(std::span<const std::shared_ptr<HostStream>> streams, HostStream::Task task);

// NULL and CUDA's handles of the legacy (0x1) and per-thread (0x2) default streams: on a host, work
// on them is complete before the call that asked for it returns.
bool completes_before_return(const void* stream_handle);

void* create_stream();
// The stream of a handle of create_stream(); an empty pointer where completes_before_return(); else
// an error.
Result<std::shared_ptr<HostStream>> find_stream(const void* stream_handle);
// Waits for the queued work and forgets the handle. At the deadline the stream stays as it is.
Status destroy_stream(const void* stream_handle, Deadline deadline);

}  // namespace strait
