// Session: one measurement in this process, from the first meeting of all ranks to the conclusion.
// Owns the ranks of this process and the reports; run() returns when all threads are done. A
// failure anywhere ends every process: fail() tells it, writes what the JSON file has so far, and
// does not return.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "perf/engine/report.hpp"
#include "perf/engine/seat.hpp"
#include "perf/engine/team.hpp"
#include "perf/engine/worker.hpp"
#include "perf/launch/launcher.hpp"

namespace strait::perf {

class Session {
 public:
  Session(const Collective& collective, const Options& options, const Source& source,
          std::string command_line, const LaunchEnvironment& environment, Launcher& launcher);

  ExitCode run();

 private:
  int rank_count() const { return launcher_.size() * options_.threads * options_.devices; }
  int first_rank() const { return launcher_.rank() * options_.threads * options_.devices; }

  Status open_reports();
  Status make_communicators();
  Status join_ranks(const ncclUniqueId& id, size_t first, size_t count);
  Status join_in_threads(const ncclUniqueId& id);
  Status make_buffers();
  // Everyone's place, domains included; also tells the reports.
  Result<std::vector<RankPlace>> gather_places();
  Preamble preamble(std::vector<RankPlace> places) const;
  ExitCode measure(const std::vector<RankPlace>& places);
  Conclusion run_cycles(Context& context);
  void progress(size_t done, size_t total, int64_t begin_ns);
  [[noreturn]] void fail(const Status& status);
  [[noreturn]] void stop(ExitCode code, const std::string& sentence);

  const Collective& collective_;
  const Options& options_;
  const Source& source_;
  std::string command_line_;
  LaunchEnvironment environment_;
  Launcher& launcher_;
  std::vector<std::unique_ptr<Seat>> seats_;
  std::vector<std::unique_ptr<Report>> reports_;  // of process 0
  std::mutex stopping_;
  int64_t progress_ns_ = 0;
};

}  // namespace strait::perf
