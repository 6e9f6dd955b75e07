// Ranges: what is at which address, for pointer attributes, copies and frees. Guarded by the
// machine's lock; a look-up walks a tree.
#pragma once

#include <cstdint>
#include <map>

#include "standin/backing.hpp"

namespace strait::standin {

struct Context;

enum class RangeKind {
  kDevice,    // cuMemAlloc
  kMapped,    // cuMemMap
  kImported,  // cuIpcOpenMemHandle
  kPinned,    // cuMemHostAlloc
  kRegistered,
  kManaged,
};

struct Range {
  RangeKind kind = RangeKind::kDevice;
  DevicePointer base = 0;
  size_t bytes = 0;
  int device = 0;
  Context* context = nullptr;  // null for kMapped: it belongs to no context
  BackingRef backing;          // null for host and managed memory
  uint64_t id = 0;
  uint64_t accessible = 0;  // of kMapped: a bit for each device
  bool sync_memops = false;
};

class Ranges {
 public:
  Range& add(Range range);
  // The range that holds the address, or null.
  Range* find(DevicePointer address);
  bool overlaps(DevicePointer address, size_t bytes) const;
  // The range that begins there; unmaps what was mapped for it.
  bool remove(DevicePointer base);
  void remove_all_of(const Context* context);
  size_t size() const { return ranges_.size(); }

 private:
  std::map<DevicePointer, Range> ranges_;  // by base
};

}  // namespace strait::standin
