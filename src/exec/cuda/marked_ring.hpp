// MarkedRing: what lies beside the slots of a ring between a kernel and the proxy, which stands for
// the far end of a link that kernels cannot turn themselves: a mark per slot, the count of slots
// given back, and the mode of chunks, in pinned host memory. The kernel's side is a DevicePort
// (ports.cuh); the proxy's is here. Who posts and who gives back depends on the direction. One
// kernel and one proxy; owned by a ring. A look costs a load.
#pragma once

#include <cstddef>
#include <optional>

#include "base/cuda/pinned_memory.hpp"
#include "base/types.hpp"
#include "codec/codec.hpp"
#include "exec/cuda/device_call.hpp"

namespace strait {

class MarkedRing {
 public:
  struct Posted {
    uint32_t bytes = 0;
    uint32_t tag = 0;
    DataType type{};
    uint64_t value_bytes = 0;
    std::optional<codec::Mode> mode;  // of a chunk, where set_mode() chose it
    int64_t took_ns = 0;              // to encode that; 0: it was not encoded here
  };

  // `slot_bytes`: room for the slots in the same memory, or 0.
  static Result<MarkedRing> create(const cuda::Driver& driver, cuda::ContextHandle context,
                                   uint32_t slots, size_t slot_bytes);

  // The kernel's end; slots that lie elsewhere are filled in by the caller.
  DevicePort device_port(uint32_t peer) const;
  std::byte* slot(uint64_t sequence) const { return at(sequence % slots_ * slot_bytes_); }
  size_t slot_bytes() const { return slot_bytes_; }
  uint32_t slots() const { return slots_; }

  // What the kernel posted as message `sequence`, if it has.
  std::optional<Posted> posted(uint64_t sequence) const;
  // For the kernel to find.
  void post(uint64_t sequence, uint32_t bytes, uint32_t tag) const;

  // Slots that the kernel gave back, or that are given back to it.
  uint64_t released() const;
  void set_released(uint64_t count) const;
  // Of the chunks that the kernel makes from now on, where the call leaves it to us.
  void set_mode(codec::Mode mode) const;

 private:
  std::byte* at(size_t offset) const { return memory_.data() + offset; }
  SlotMark& mark(uint64_t sequence) const {
    return reinterpret_cast<SlotMark*>(at(marks_at_))[sequence % slots_];
  }

  cuda::PinnedMemory memory_;  // slots, marks, the count
  uint32_t slots_ = 0;
  size_t slot_bytes_ = 0;
  size_t marks_at_ = 0;
  size_t released_at_ = 0;  // then the mode
};

}  // namespace strait
