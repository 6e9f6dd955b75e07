// The ranks of one check, as threads of this process or as processes of their own, all on one GPU:
// first on hosts' memory, then on the GPU, the same cases, and the bits compared. Blocks; whoever
// does not finish in time fails.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "perf/device/rank_run.hpp"

namespace strait::device_check {

struct CrewTerms {
  std::string library;  // path of libnccl
  int rank_count = 2;
  bool tiny = false;
  int64_t limit_ms = 120'000;
  std::map<std::string, std::string> settings;  // of the environment, for both phases
};

Status check_threads(const CrewTerms& terms);
// The processes are this program again, as `program rank ...`.
Status check_processes(const CrewTerms& terms, const std::string& program);
// What such a process does with those arguments.
Status be_process(int argc, char** argv);

// -1 where the text is none.
int whole_number(std::string_view text);

// One call for each rank, in threads of their own; the first failure.
Status on_threads(int rank_count, const std::function<Status(int rank)>& work);

}  // namespace strait::device_check
