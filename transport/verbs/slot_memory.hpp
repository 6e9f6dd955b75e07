// The slots of one end of a link: whole pages that the device may read or write. Owned by the link,
// and by a device that uses its places; no locks of its own. Goes before the queue that uses it.
#pragma once

#include <span>

#include "transport/transport.hpp"
#include "transport/verbs/device.hpp"

namespace strait::verbs {

class SlotMemory {
 public:
  // `access`: IBV_ACCESS_*, beyond reading.
  static Result<SlotMemory> allocate(const LinkSpec& spec, const Device& device, int access);

  std::byte* slot(uint64_t sequence) const { return memory_.get() + sequence % slots_ * stride_; }
  size_t stride() const { return stride_; }
  SlotPlaces places(uint64_t next) const {
    return {memory_, {memory_.get(), bytes_}, memory_.get(), stride_, slots_, next};
  }
  uint32_t local_key() const { return registration_->lkey; }
  uint32_t remote_key() const { return registration_->rkey; }

 private:
  uint32_t slots_ = 0;
  size_t stride_ = 0;
  size_t bytes_ = 0;
  std::shared_ptr<std::byte> memory_;
  Owned<ibv_mr> registration_;  // goes before the memory
};

}  // namespace strait::verbs
