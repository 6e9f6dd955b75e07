// RankDevice: what a rank sits on, the host or a GPU: its stream, its graphs, and how the host gets
// at its memory. Made and first used by the thread that makes the rank, later by another; one
// thread at a time. On a GPU writing and looking are copies by way of host memory, and are done
// when they return.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/status.hpp"

namespace strait::perf {

class RankDevice {
 public:
  virtual ~RankDevice() = default;

  virtual int number() const = 0;        // among the GPUs of this process, or of host ranks
  virtual std::string bus() const = 0;   // "0000:3b:00.0"; empty: a host
  virtual std::string name() const = 0;  // "host", "NVIDIA H200"
  bool is_gpu() const { return !bus().empty(); }

  // Current in this thread: calls that ask where the caller is find this device.
  virtual Status enter() = 0;
  virtual Status make_stream() = 0;
  // NULL before make_stream(): the default stream of the device that is current.
  virtual cudaStream_t stream() const = 0;
  // Until all in the stream is done, or the communicator has failed.
  virtual Status synchronize(ncclComm_t comm) = 0;

  // Calls `edit` with host memory of that size, whose contents become the target's.
  virtual Status write(std::byte* target, size_t bytes,
                       const std::function<void(std::byte*)>& edit) = 0;
  // Calls `look` with the contents of the source.
  virtual Status read(const std::byte* source, size_t bytes,
                      const std::function<void(const std::byte*)>& look) = 0;

  // GPUs only: what is called in between becomes a graph, in place of an earlier one.
  virtual Status begin_capture() = 0;
  virtual Status end_capture() = 0;
  virtual Status launch_graph() = 0;
  virtual Status drop_graph() = 0;
};

// How many GPUs ranks are to sit on: as STRAIT_DEVICE says, by itself all that the driver sees. 0:
// ranks sit on the host.
Result<int> gpus_to_use();

// The host if there are no GPUs to use; else the GPU of that number, counted round if there are
// fewer.
Result<std::unique_ptr<RankDevice>> open_device(int number, int gpus);

std::unique_ptr<RankDevice> open_host(int number);
Result<std::unique_ptr<RankDevice>> open_gpu(int ordinal);

// Success, or the library's own sentence about the call that failed.
Status told(const char* call, ncclResult_t result);
// What failed on the communicator, if anything.
Status failure_of(ncclComm_t comm);

}  // namespace strait::perf
