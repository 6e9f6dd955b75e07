// A process and all that came from it, as /proc shows them now. Whoever lost its parent meanwhile
// has left the family. Values; any thread. Costs one small read for each process of the machine.
#pragma once

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace strait::tool {

struct Process {
  pid_t pid = 0;
  uint64_t started = 0;  // in clock ticks since the machine did; a pid may be used again, both not
  pid_t parent = 0;
  std::string name;
};

std::vector<Process> family_of(pid_t eldest);

}  // namespace strait::tool
