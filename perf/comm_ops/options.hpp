// Options of comm_ops_perf: nccl-tests' words and letters, and how many ranks a process has. A
// plain value made from the command line before anything else happens.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "perf/exit_code.hpp"

namespace strait::perf {

enum class CommTest { kInit, kSplit, kShrink, kGrow };

// How a number of ranks changes: "factor-2", "step-4" or "fixed".
struct Change {
  enum class Kind { kFactor, kStep, kFixed };
  Kind kind = Kind::kFactor;
  double amount = 2;

  static Result<Change> parse(const std::string& text);
};

struct CommOptions {
  CommTest test = CommTest::kInit;
  int threads = 1;          // ranks of a process
  bool aborts = false;      // abort in place of finalize and destroy
  bool all_timers = false;  // also what is not the library's
  Change sweep;             // of the communicator's size
  int sweep_begin = 0;      // 0: all ranks
  int sweep_end = 0;        // 0: one
  int flush_interval = 1;   // timed events between exchanges
  int iterations = 2;
  int warmup = 1;
  int work_iterations = 2;  // collectives on each new communicator
  Change resize;            // of split, shrink, grow
  int root_every = 0;       // ranks per unique id; 0: one id
  bool share = false;
  bool verbose = false;
};

struct ParsedCommOptions {
  std::optional<CommOptions> options;
  ExitCode exit_code = ExitCode::kSuccess;
  std::string text;
};

ParsedCommOptions parse_comm_options(int argc, const char* const* argv);

// The sizes of communicators, in the order of the sweep.
std::vector<int> swept_sizes(const CommOptions& options, int ranks);

// Of `count` ranks: those of the first part have colour 0, the rest 1.
int resize_color(const Change& resize, int rank, int count);

}  // namespace strait::perf
