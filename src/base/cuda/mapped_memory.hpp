// MappedMemory: physical memory at an address, with access for one or more GPUs. Owns both. The
// address is good in kernels of those GPUs and for copies, never on the host. Movable, one owner;
// any thread; mapping costs some ten microseconds, never on the hot path.
#pragma once

#include <span>

#include "base/cuda/physical_memory.hpp"

namespace strait::cuda {

class MappedMemory {
 public:
  MappedMemory() = default;
  static Result<MappedMemory> map(PhysicalMemory memory, std::span<const int> devices);

  DevicePointer pointer() const { return mapped_.get().pointer; }
  void* data() const { return reinterpret_cast<void*>(pointer()); }
  size_t bytes() const { return physical_.bytes(); }
  const PhysicalMemory& physical() const { return physical_; }

 private:
  struct Range {
    DevicePointer pointer = 0;
    size_t bytes = 0;
    bool operator==(const Range&) const = default;
  };
  static void unmap(const Driver& driver, Range range);
  static void free_address(const Driver& driver, Range range);

  // In the order in which they are made; they go in the opposite one.
  PhysicalMemory physical_;
  Owned<Range> address_;
  Owned<Range> mapped_;
};

}  // namespace strait::cuda
