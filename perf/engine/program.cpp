#include <cstdio>
#include <cstdlib>

#include "perf/engine/collective.hpp"
#include "perf/engine/session.hpp"

namespace strait::perf {
namespace {

constexpr int exit_status(ExitCode code) {
  return static_cast<int>(code);
}

int complain(ExitCode code, const std::string& program, const Status& status) {
  std::fprintf(stderr, "%s: %s\n", program.c_str(), status.message().c_str());
  return exit_status(code);
}

const char* variable(const char* name) {
  return std::getenv(name);
}

// What the environment adds to the command line.
Status read_environment(const LaunchEnvironment& environment, Options* options) {
  STRAIT_ASSIGN(options->min_bus_gbps, parse_bandwidth_floor(variable("NCCL_TESTS_MIN_BW")));
  STRAIT_ASSIGN(options->first_device,
                parse_first_device(variable("NCCL_TESTS_DEVICE"), environment.rank));
  return {};
}

// Everything that can be refused before any process waits for another. Every process looks at every
// group, so that they refuse together.
Status prepare(const Collective& collective, const Options& options, const Source& source,
               const Split& split, int process) {
  for (const DataType type : options.types) STRAIT_TRY(source.supports(type));
  const auto ranks_of = [&](const std::vector<int>& members) {
    return static_cast<int>(members.size()) * options.threads * options.devices;
  };
  for (const auto& [color, members] : split.groups()) {
    const int ranks = ranks_of(members);
    if (collective.rooted && options.root >= ranks)
      return error(Code::kInvalidArgument, "-r {} is no rank of {}", options.root, ranks);
    if (collective.prepare != nullptr) STRAIT_TRY(collective.prepare(options, ranks));
    STRAIT_TRY(library_settings(options, ranks).status());
  }
  STRAIT_ASSIGN(const auto settings, library_settings(options, ranks_of(split.members(process))));
  for (const auto& [name, value] : settings) ::setenv(name.c_str(), value.c_str(), 1);
  return {};
}

}  // namespace

int run_program(const Collective& collective, int argc, char** argv) {
  const std::string program = collective.program;
  const auto environment = detect_launch(variable);
  if (!environment.ok()) return complain(ExitCode::kInvalidUsage, program, environment.status());
  const ParsedOptions parsed = parse_options(program, argc, argv);
  if (!parsed.options) {
    if (environment->rank == 0)
      std::fputs(parsed.text.c_str(), parsed.exit_code == ExitCode::kSuccess ? stdout : stderr);
    return exit_status(parsed.exit_code);
  }
  Options options = *parsed.options;
  if (const Status status = read_environment(*environment, &options); !status.ok())
    return complain(ExitCode::kInvalidUsage, program, status);
  const auto split = Split::read(variable, environment->size);
  if (!split.ok()) return complain(ExitCode::kInvalidUsage, program, split.status());
  auto source = make_source(options.data);
  if (!source.ok()) return complain(ExitCode::kInvalidUsage, program, source.status());
  if (const Status status = prepare(collective, options, **source, *split, environment->rank);
      !status.ok())
    return complain(ExitCode::kInvalidUsage, program, status);

  auto launcher = launch(*environment);
  if (!launcher.ok()) return complain(ExitCode::kNcclError, program, launcher.status());
  Session session({collective, options, **source, *environment, *split, {argv, argv + argc}},
                  **launcher);
  const ExitCode code = session.run();
  if (const Status status = (*launcher)->finish(); !status.ok())
    return complain(ExitCode::kNcclError, program, status);
  return exit_status(code);
}

}  // namespace strait::perf
