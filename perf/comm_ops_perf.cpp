// Measures how long communicators take to make, split, shrink and grow, as nccl-tests'
// comm_ops_perf does. Ranks are processes, under any launcher, or threads (-t).
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "perf/comm_ops/life.hpp"
#include "perf/launch/launcher.hpp"
#include "perf/launch/same_host.hpp"

namespace strait::perf {
namespace {

[[noreturn]] void fail(Launcher& launcher, const Status& status) {
  std::fprintf(stderr, "# error: process %d: %s\n", launcher.rank(), status.message().c_str());
  const int code = static_cast<int>(ExitCode::kNcclError);
  launcher.abort(code);
  ::_exit(code);
}

// Lines to print and wrong elements, of all sizes of the sweep.
struct Outcome {
  std::vector<std::string> lines;
  uint64_t wrong = 0;
};

// Where the ranks of this process sit, one after the other.
struct Places {
  int first;
  int gpus;
};

Outcome run_rank(const CommOptions& options, Team& team, const Places& places, int thread) {
  Launcher& launcher = team.launcher();
  const int rank = launcher.rank() * options.threads + thread;
  const auto place = open_device(places.first + thread, places.gpus);
  if (!place.ok()) fail(launcher, place.status());
  if (const Status status = (*place)->enter(); !status.ok()) fail(launcher, status);
  if (const Status status = (*place)->make_stream(); !status.ok()) fail(launcher, status);
  Outcome outcome;
  for (const int size : swept_sizes(options, launcher.size() * options.threads)) {
    Life life(options, team, **place, thread, rank, size);
    if (const Status status = life.run(); !status.ok()) fail(launcher, status);
    for (std::string& line : life.summary()) outcome.lines.push_back(std::move(line));
    const uint64_t mine = life.wrong();
    for (const uint64_t wrong : team.exchange<uint64_t>(thread, std::span(&mine, 1)))
      outcome.wrong += wrong;
  }
  return outcome;
}

Outcome run_ranks(const CommOptions& options, Launcher& launcher) {
  Team team(launcher, options.threads, [&](const Status& status) { fail(launcher, status); });
  const auto index = index_on_host(launcher);
  if (!index.ok()) fail(launcher, index.status());
  const auto gpus = gpus_to_use();
  if (!gpus.ok()) fail(launcher, gpus.status());
  const Places places{*index * options.threads, *gpus};
  std::vector<std::thread> threads;
  for (int t = 1; t < options.threads; ++t)
    threads.emplace_back([&, t] { run_rank(options, team, places, t); });
  Outcome outcome = run_rank(options, team, places, 0);
  for (std::thread& thread : threads) thread.join();
  return outcome;
}

int complain(ExitCode code, const Status& status) {
  std::fprintf(stderr, "comm_ops_perf: %s\n", status.message().c_str());
  return static_cast<int>(code);
}

int run(int argc, char** argv) {
  const auto environment = detect_launch([](const char* name) { return std::getenv(name); });
  if (!environment.ok()) return complain(ExitCode::kInvalidUsage, environment.status());
  const ParsedCommOptions parsed = parse_comm_options(argc, argv);
  if (!parsed.options) {
    if (environment->rank == 0)
      std::fputs(parsed.text.c_str(), parsed.exit_code == ExitCode::kSuccess ? stdout : stderr);
    return static_cast<int>(parsed.exit_code);
  }
  const CommOptions& options = *parsed.options;
  auto launcher = launch(*environment);
  if (!launcher.ok()) return complain(ExitCode::kNcclError, launcher.status());
  const Outcome outcome = run_ranks(options, **launcher);
  if ((*launcher)->rank() == 0) {
    for (const std::string& line : outcome.lines) std::printf("%s\n", line.c_str());
    if (options.root_every > 0)
      std::printf(
          "Note: Scalable Comm Initialization was performed with a root for every %d "
          "ranks.\n",
          options.root_every);
    if (outcome.wrong > 0)
      std::fprintf(stderr, "# error: %llu elements of all-reduces were wrong\n",
                   static_cast<unsigned long long>(outcome.wrong));
  }
  if (const Status status = (*launcher)->finish(); !status.ok())
    return complain(ExitCode::kNcclError, status);
  return static_cast<int>(outcome.wrong == 0 ? ExitCode::kSuccess : ExitCode::kWrongResults);
}

}  // namespace
}  // namespace strait::perf

int main(int argc, char** argv) {
  return strait::perf::run(argc, argv);
}
