// Segments: the memory of this process that other processes of the host can map, as ncclMemAlloc
// hands it out. Each has a number that is never given twice, so that whoever has mapped one can
// tell it from a later one at the same address. Any thread, one lock; a look-up costs less than
// 0.1 us, and nothing is allocated by it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "base/shared_memory.hpp"
#include "base/status.hpp"

namespace strait {

// Where bytes lie for a process that does not share our addresses.
struct SegmentPlace {
  uint64_t segment = 0;  // 0: nowhere
  uint64_t offset = 0;
};

class Segments {
 public:
  static Segments& instance();

  // Takes it over; returns its first byte.
  std::byte* add(SharedMemory memory);
  // False if no segment begins there. Its pages are given back at once, whoever has it mapped.
  bool remove(void* begin);
  // Where all of these bytes lie, if in one segment.
  std::optional<SegmentPlace> find(const void* begin, size_t bytes) const;
  // For a process that wants to map the segment.
  Result<UniqueFd> descriptor(uint64_t segment);

 private:
  struct Segment {
    SharedMemory memory;
    uint64_t number = 0;
    pid_t owner = 0;          // a forked child inherits the mapping, not the right to empty it
    bool handed_out = false;  // somebody else may have it mapped
  };

  mutable std::mutex mutex_;
  uint64_t last_ = 0;
  std::map<uintptr_t, Segment> by_address_;
};

}  // namespace strait
