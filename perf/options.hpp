// Options: what a measuring program was asked to do: nccl-tests' flags, with its meanings and
// defaults, and our own in long form. A plain value made from the command line before anything else
// happens; a bad one never comes into being.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "base/types.hpp"
#include "perf/exit_code.hpp"

namespace strait::perf {

struct Options {
  // ranks
  int threads = 1;
  int devices = 1;  // ranks of one thread
  bool parallel_init = false;
  // sizes
  int64_t min_bytes = 32 << 20;
  int64_t max_bytes = 32 << 20;
  int64_t step_bytes = 1 << 20;
  int64_t step_factor = 0;  // 0: add step_bytes
  // repetitions
  int iterations = 20;
  int warmup = 1;
  int aggregate = 1;
  int cycles = 1;  // 0: for ever
  int check = 1;
  // the operation
  std::vector<DataType> types = {DataType::kFloat32};
  std::vector<ReduceKind> kinds = {ReduceKind::kSum};
  int root = 0;  // -1: every root in turn
  // how it runs
  int blocking = 0;
  bool null_stream = false;
  int timeout_s = 0;
  bool unalign = false;
  int graph_launches = 0;  // of the timed iterations as one CUDA graph; 0: no graph
  int local_register = 0;  // 1: ncclCommRegister, 2: symmetric windows
  int cta_policy = -1;     // negative: the library's
  // what is reported
  bool cpu_time = false;
  bool timestamps = false;
  bool memory_report = false;
  bool per_iteration = false;
  int per_iteration_skip = 0;
  int average = 1;  // 0: rank 0, 1: mean, 2: min, 3: max over the ranks
  bool percentiles = false;
  bool median = false;
  bool per_link = false;
  bool progress = false;  // even where standard error is no terminal
  std::string json_path;
  // data, racks, compression
  std::string data = "random";
  std::string compress;    // empty: as the environment says
  std::string link_rate;   // the same
  int racks = 0;           // the same
  std::string bound_rate;  // of what leaves a rack, where the bound cannot take link_rate
  double bound_latency_us = 0;
  int first_device = -1;     // NCCL_TESTS_DEVICE: the number of this process's first device
  double min_bus_gbps = -1;  // NCCL_TESTS_MIN_BW: the average below 0.9 of it fails; negative: none
  bool times_each_iteration() const { return per_iteration || percentiles || median; }
};

// Options, or a text to print and the code to end with: help (success) or one sentence of
// complaint.
struct ParsedOptions {
  std::optional<Options> options;
  ExitCode exit_code = ExitCode::kSuccess;
  std::string text;
};

ParsedOptions parse_options(const std::string& program, int argc, const char* const* argv);

// What NCCL_TESTS_MIN_BW says; null is none.
Result<double> parse_bandwidth_floor(const char* text);

// What NCCL_TESTS_DEVICE says for one process: a number, or "r/N" for its own divided by N; -1 for
// null. On hosts it only names devices.
Result<int> parse_first_device(const char* text, int process);

// The library's settings that stand for the options, as name and value, for `ranks` ranks in all.
using Setting = std::pair<std::string, std::string>;
Result<std::vector<Setting>> library_settings(const Options& options, int ranks);

}  // namespace strait::perf
