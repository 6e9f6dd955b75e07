// Session: one measurement in this process, from the first meeting of all ranks to the conclusion.
// Owns the crew of this process and the reports; run() returns when all threads are done. A failure
// anywhere ends every process: fail() tells it, writes what the JSON file has so far, and does not
// return.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "perf/engine/crew.hpp"
#include "perf/engine/report.hpp"
#include "perf/engine/team.hpp"
#include "perf/engine/worker.hpp"
#include "perf/launch/launcher.hpp"

namespace strait::perf {

class Session {
 public:
  // What the session is told; all of it outlives the session.
  struct Plan {
    const Collective& collective;
    const Options& options;
    const Source& source;
    const LaunchEnvironment& environment;
    const Split& split;
    std::vector<std::string> arguments;
  };
  Session(Plan plan, Launcher& launcher)
      : plan_(std::move(plan)), launcher_(launcher), crew_(plan_.options, plan_.split, launcher_) {}

  ExitCode run();

 private:
  Status open_reports();
  Preamble preamble(std::vector<RankPlace> places, const BoundRule& bound) const;
  bool order_is_known() const;
  std::string check_in_words() const;
  // How much may leave a rack, if that is known and there are racks.
  Result<BoundRule> bound_rule(const std::vector<RankPlace>& places) const;
  ExitCode measure(const std::vector<RankPlace>& places, const BoundRule& bound);
  Conclusion run_cycles(Context& context);
  void run_thread(Context& context, int thread, Conclusion* conclusion);
  [[noreturn]] void fail(const Status& status);
  [[noreturn]] void stop(ExitCode code, const std::string& sentence);

  const Plan plan_;
  Launcher& launcher_;
  Crew crew_;
  std::vector<std::unique_ptr<Report>> reports_;  // of process 0
  std::mutex stopping_;
};

}  // namespace strait::perf
