// PhysicalMemory: memory of one GPU without an address (cuMemCreate), made here or imported from
// another process, and the two ways to hand it on: by file descriptor on one host, by fabric handle
// within an NVLink domain. Map it (mapped_memory.hpp) to use it. Movable, one owner; any thread.
// The memory is gone when its last owner and last mapping in any process are. Never on the hot
// path.
#pragma once

#include "base/cuda/device.hpp"
#include "base/cuda/owned.hpp"
#include "base/fd.hpp"

namespace strait::cuda {

class PhysicalMemory {
 public:
  struct Wish {
    size_t bytes = 0;  // rounded up to what the device can map
    bool file_descriptor = false;
    bool fabric = false;
    bool rdma = false;  // a NIC will reach into it
  };

  PhysicalMemory() = default;
  static Result<PhysicalMemory> create(const Driver& driver, ContextHandle context, int device,
                                       const Wish& wish);
  // What another process exported; `bytes` is its bytes(). The descriptor stays the caller's.
  static Result<PhysicalMemory> import_from(const Driver& driver, ContextHandle context,
                                            const UniqueFd& fd, size_t bytes);
  static Result<PhysicalMemory> import_from(const Driver& driver, ContextHandle context,
                                            const FabricHandle& handle, size_t bytes);
  // The memory behind an address that somebody else mapped, an NCCL user's buffer for example.
  static Result<PhysicalMemory> behind(const Driver& driver, ContextHandle context,
                                       const void* pointer, size_t bytes);

  Result<UniqueFd> export_fd() const;
  Result<FabricHandle> export_fabric() const;

  AllocationHandle get() const { return memory_.get(); }
  size_t bytes() const { return bytes_; }
  const Driver& driver() const { return memory_.driver(); }
  ContextHandle context() const { return memory_.context(); }

 private:
  PhysicalMemory(const Driver& driver, ContextHandle context, AllocationHandle handle,
                 size_t bytes);

  Owned<AllocationHandle> memory_;
  size_t bytes_ = 0;
};

// All the ways in which memory of this GPU can be shared, as a wish for no bytes yet. Tries
// them.
PhysicalMemory::Wish shareable(const Driver& driver, ContextHandle context,
                               const DeviceFacts& facts);

// Whether an allocation with a fabric handle succeeds here: without an IMEX channel it does not,
// whatever the device says. Costs an allocation; the verdict of a peer is another question.
Status try_fabric(const Driver& driver, ContextHandle context, int device);

}  // namespace strait::cuda
