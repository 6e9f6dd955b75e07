// How much memory may still be taken: by the machine's own account and by the control groups around
// this process. Asked before memory is shared, because running out later would be a kill or a
// SIGBUS instead of a sentence. Any thread; one question reads a handful of small files of /proc
// and /sys (about 100 us).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.hpp"

namespace strait {

struct MemoryRoom {
  std::optional<uint64_t> machine_bytes;  // MemAvailable; empty: unknown
  std::optional<uint64_t>
      cgroup_bytes;  // limit minus use of the tightest control group; empty: no limit

  bool operator==(const MemoryRoom&) const = default;
};

// Reads what the kernel says; `root` is prepended to every path ("" is this machine, else a
// captured one).
MemoryRoom memory_room(const std::string& root = "");

// Ok if `need_bytes` fit into the room, else a sentence with need, have and remedy. Pure.
Status fits(const MemoryRoom& room, uint64_t need_bytes, const std::string& purpose);

}  // namespace strait
