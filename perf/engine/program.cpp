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

std::string joined(int argc, char** argv) {
  std::string line;
  for (int i = 0; i < argc; ++i) line += (i > 0 ? " " : "") + std::string(argv[i]);
  return line;
}

// Everything that can be refused before any process waits for another.
Status prepare(const Collective& collective, const Options& options, const Source& source,
               int ranks) {
  for (const DataType type : options.types) STRAIT_TRY(source.supports(type));
  if (collective.rooted && options.root >= ranks)
    return error(Code::kInvalidArgument, "-r {} is no rank of {}", options.root, ranks);
  for (const char* name : {"NCCL_TESTS_SPLIT", "NCCL_TESTS_SPLIT_MASK"})
    if (std::getenv(name) != nullptr)
      return error(Code::kInvalidUsage,
                   "{} is set, but splitting the ranks is not supported; unset it", name);
  STRAIT_ASSIGN(const auto settings, library_settings(options, ranks));
  for (const auto& [name, value] : settings) ::setenv(name.c_str(), value.c_str(), 1);
  return {};
}

}  // namespace

int run_program(const Collective& collective, int argc, char** argv) {
  const std::string program = collective.program;
  const auto environment = detect_launch([](const char* name) { return std::getenv(name); });
  if (!environment.ok()) return complain(ExitCode::kInvalidUsage, program, environment.status());
  const ParsedOptions parsed = parse_options(program, argc, argv);
  if (!parsed.options) {
    if (environment->rank == 0)
      std::fputs(parsed.text.c_str(), parsed.exit_code == ExitCode::kSuccess ? stdout : stderr);
    return exit_status(parsed.exit_code);
  }
  Options options = *parsed.options;
  const auto floor = parse_bandwidth_floor(std::getenv("NCCL_TESTS_MIN_BW"));
  if (!floor.ok()) return complain(ExitCode::kInvalidUsage, program, floor.status());
  options.min_bus_gbps = *floor;
  auto source = make_source(options.data);
  if (!source.ok()) return complain(ExitCode::kInvalidUsage, program, source.status());
  const int ranks = environment->size * options.threads * options.devices;
  if (const Status status = prepare(collective, options, **source, ranks); !status.ok())
    return complain(ExitCode::kInvalidUsage, program, status);

  auto launcher = launch(*environment);
  if (!launcher.ok()) return complain(ExitCode::kNcclError, program, launcher.status());
  Session session(collective, options, **source, joined(argc, argv), *environment, **launcher);
  const ExitCode code = session.run();
  if (const Status status = (*launcher)->finish(); !status.ok())
    return complain(ExitCode::kNcclError, program, status);
  return exit_status(code);
}

}  // namespace strait::perf
