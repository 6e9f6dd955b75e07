// The slots of one end of a link: whole pages that the device may read or write, of this process or
// of its GPU. Owned by the link, and by a device that uses its places; no locks of its own. Goes
// before the queue that uses it.
#pragma once

#include <span>
#include <vector>

#include "transport/transport.hpp"
#include "transport/verbs/device.hpp"

namespace strait::verbs {

class SlotMemory {
 public:
  // `access`: IBV_ACCESS_*, beyond reading. `source`: where the GPU's memory is tried first, or
  // null; the log says why it cannot be had.
  static Result<SlotMemory> allocate(const LinkSpec& spec, const Device& device, int access,
                                     DeviceSlotSource* source);

  std::byte* slot(uint64_t sequence) const { return memory_.get() + sequence % slots_ * stride_; }
  size_t stride() const { return stride_; }
  bool on_gpu() const { return on_gpu_; }
  // Of a slot on a GPU.
  SlotHead& head(uint64_t sequence) const { return heads_.get()[sequence % slots_]; }
  SlotPlaces places(uint64_t next) const;
  uint32_t local_key() const { return registration_->lkey; }
  uint32_t remote_key() const { return registration_->rkey; }
  uint32_t heads_key() const { return heads_registration_->lkey; }

 private:
  // Memory and its registration; nothing on success.
  Status place_on_gpu(const Device& device, int access, DeviceSlotSource& source);
  Status place_on_host(const Device& device, int access, const std::string& link);
  Owned<ibv_mr> registered(const Device& device, void* memory, size_t bytes, int access) const;

  uint32_t slots_ = 0;
  size_t slot_bytes_ = 0;
  size_t stride_ = 0;
  size_t bytes_ = 0;
  bool on_gpu_ = false;
  std::shared_ptr<std::byte> memory_;
  std::shared_ptr<SlotHead> heads_;
  Owned<ibv_mr> registration_;  // go before the memory
  Owned<ibv_mr> heads_registration_;
};

}  // namespace strait::verbs
