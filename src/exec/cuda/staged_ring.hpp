// StagedRing: a ring of slots in pinned host memory between a kernel and the proxy, which stands
// for the far end of a link that kernels cannot turn themselves. The kernel's side is a DevicePort
// (ports.cuh); the proxy's is here. One kernel and one proxy; owned by the engine. A turn costs a
// load when there is nothing to do.
#pragma once

#include <cstddef>
#include <span>

#include "base/cuda/pinned_memory.hpp"
#include "exec/cuda/device_call.hpp"

namespace strait {

class StagedRing {
 public:
  static Result<StagedRing> create(const cuda::Driver& driver, cuda::ContextHandle context,
                                   uint32_t slots, size_t slot_bytes);

  // The kernel's end, with addresses as kernels name them.
  DevicePort device_port(uint32_t peer) const;

  // ---- A kernel sends: the proxy takes what it posted.
  struct Posted {
    std::span<const std::byte> bytes;
    uint32_t tag = 0;
    uint32_t type = 0;
  };
  // The oldest message that was not released; false: there is none.
  bool look(Posted* posted) const;
  void release();

  // ---- A kernel receives: the proxy posts.
  bool has_room() const;
  std::span<std::byte> slot();
  void post(size_t bytes, uint32_t tag);

 private:
  SlotMark& mark() const;
  std::byte* at(size_t offset) const { return memory_.data() + offset; }

  cuda::PinnedMemory memory_;  // slots, marks, the count of released messages
  uint32_t slots_ = 0;
  size_t slot_bytes_ = 0;
  size_t marks_at_ = 0;
  size_t released_at_ = 0;
  uint64_t sequence_ = 0;  // of the proxy's next message
};

}  // namespace strait
