// Streams: the owner of one of our own, and what is asked of a program's, by its handle. A handle
// may be NULL (the legacy stream) or the per-thread stream; then the thread's current context
// counts. Owners are movable; handles may be used from any thread.
#pragma once

#include "base/clock.hpp"
#include "base/cuda/owned.hpp"

namespace strait::cuda {

class Stream {
 public:
  Stream() = default;
  // Independent of the legacy stream; first in line where the device has to choose.
  static Result<Stream> create(const Driver& driver, ContextHandle context);

  StreamHandle get() const { return stream_.get(); }
  explicit operator bool() const { return static_cast<bool>(stream_); }

 private:
  Owned<StreamHandle> stream_;
};

Result<ContextHandle> context_of(const Driver& driver, StreamHandle stream);
// A number that no other stream of the process has or had.
Result<uint64_t> id_of(const Driver& driver, StreamHandle stream);

// Whether all that was queued is done; an asynchronous failure of the context is reported here.
Result<bool> is_idle(const Driver& driver, StreamHandle stream);
// Spins for a moment, then looks again every 100 us; Code::kTimeout after the deadline.
Status wait_idle(const Driver& driver, StreamHandle stream, Deadline deadline);

// Runs function(argument) on a thread of the driver, in stream order; it may not call CUDA.
// Does not run when the context has failed.
Status call_on_host(const Driver& driver, StreamHandle stream, HostFunction function,
                    void* argument);

// The stream stores, or waits until *address >= value (cyclic), with no kernel.
Status write_value(const Driver& driver, StreamHandle stream, DevicePointer address,
                   uint32_t value);
Status write_value(const Driver& driver, StreamHandle stream, DevicePointer address,
                   uint64_t value);
Status wait_value(const Driver& driver, StreamHandle stream, DevicePointer address, uint32_t value);
Status wait_value(const Driver& driver, StreamHandle stream, DevicePointer address, uint64_t value);

}  // namespace strait::cuda
