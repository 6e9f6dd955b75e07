// The slots of one end of a TCP link: plain memory in which each slot has room for its frame header
// right before it, so that header and bytes leave in one piece. Owned by the link, and by a device
// that uses its places; no locks of its own.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "transport/net/frame.hpp"

namespace strait::tcp {

using net::FrameHeader;

class SlotMemory {
 public:
  static Result<SlotMemory> allocate(const LinkSpec& spec);

  uint32_t slots() const { return slots_; }
  size_t slot_bytes() const { return slot_bytes_; }
  SlotPlaces places(uint64_t next) const {
    return {memory_, {memory_.get(), bytes_}, memory_.get() + kLead, stride_, slots_, next};
  }
  std::span<std::byte> slot(uint64_t sequence) { return {place(sequence), slot_bytes_}; }
  // Header and slot, one behind the other.
  std::byte* frame(uint64_t sequence) { return place(sequence) - sizeof(FrameHeader); }

 private:
  std::byte* place(uint64_t sequence) {
    return memory_.get() + (sequence % slots_) * stride_ + kLead;
  }

  static constexpr size_t kLead = 64;  // holds the header and keeps the slot on a cache line

  uint32_t slots_ = 0;
  size_t slot_bytes_ = 0;
  size_t stride_ = 0;
  size_t bytes_ = 0;
  std::shared_ptr<std::byte> memory_;  // whole pages
};

}  // namespace strait::tcp
