// Report: what the user sees: nccl-tests' table on standard output and its JSON file, both with our
// columns. Exists in process 0; rows come from thread 0, a failure from any thread (the session
// serialises them).
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "perf/engine/row.hpp"
#include "perf/exit_code.hpp"
#include "perf/options.hpp"

namespace strait::perf {

// One rank as the header lists it.
struct RankPlace {
  int rank = 0;   // of the program
  int color = 0;  // of its group
  int process = 0;
  int pid = 0;
  int domain = 0;
  int device = 0;
  std::string host;
  std::string bus;          // of a GPU
  std::string device_name;  // or "host"
};

// What is known before the first test.
struct Preamble {
  std::string program;
  std::vector<std::string> arguments;
  std::string launcher;
  int processes = 1;
  int domain_count = 1;
  int library_version = 0;
  std::string compress;   // as asked for, or the environment says, or the library does by itself
  std::string link_rate;  // the same
  std::string check;      // how results are held against what is expected
  std::string bound;      // how the shortest possible time is counted; empty: it is not
  std::vector<std::string> notes;
  std::vector<RankPlace> places;
};

struct Conclusion {
  uint64_t errors = 0;
  double average_bus_gbps = 0;
  double min_bus_gbps = -1;  // NCCL_TESTS_MIN_BW; negative: none
  bool bandwidth_ok() const { return average_bus_gbps >= 0.9 * min_bus_gbps; }
};

class Report {
 public:
  virtual ~Report() = default;
  virtual void begin(const Preamble& preamble) = 0;
  virtual void add(const Row& row) = 0;
  virtual void failed(const std::string& sentence) = 0;
  virtual void end(const Conclusion& conclusion) = 0;
};

std::unique_ptr<Report> make_text_report(const Options& options);
// Takes the name that is still free: NAME.json, else NAME.json.0, .1, ...
Result<std::unique_ptr<Report>> make_json_report(const Options& options);

// "2026-11-30 12:00:00"
std::string timestamp();

}  // namespace strait::perf
