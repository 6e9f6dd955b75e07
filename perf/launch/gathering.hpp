// Gathering: process 0's side of the meeting. Accepts connections until every other process has
// said who it is; strangers are dropped, a rank that comes twice or believes in another number of
// processes ends the meeting for all with one sentence.
#pragma once

#include <vector>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "base/status.hpp"

namespace strait::perf {

// What a process says first, and what it is answered once all are there. Same machine kind on all
// sides.
struct Hello {
  static constexpr uint64_t kMagic = 0x5354524149544d54;
  uint64_t magic = kMagic;
  int32_t rank = 0;
  int32_t size = 0;
};
struct Answer {
  uint32_t welcome = 0;
  char reason[508] = {};
};

// The connections by rank; the first, process 0 itself, is empty. Sends the answers.
Result<std::vector<UniqueFd>> gather_processes(int listener, int size, Deadline deadline);

}  // namespace strait::perf
