// strait: asks the library's own parts what they would do, on this machine or on one that is only
// described. Exit code 0: done; 1: what was asked for turned out wrong (a plan that does not prove,
// bytes that did not come back); 2: bad input, told in one sentence on standard error.
#include <fmt/format.h>

#include <cstdio>

#include "comm/version.hpp"
#include "tools/strait/command.hpp"

namespace strait::tool {
namespace {

constexpr int kFailed = 1;
constexpr int kBadInput = 2;

int finish(const Status& status) {
  if (status.ok()) return 0;
  std::fflush(stdout);
  fmt::print(stderr, "strait: {}\n", status.message());
  return status.code() == Code::kInternalError ? kFailed : kBadInput;
}

// The innermost command that the line named: its help is the one to point to.
std::string named(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? "strait" : "strait " + chosen.front()->get_name();
}

int run(int argc, char** argv) {
  CLI::App app(
      "Looks at the parts of Strait one by one: codec, settings, topologies, plans, times.",
      "strait");
  app.set_version_flag("--version", fmt::format("strait {}", kVersion));
  app.require_subcommand(1);
  app.footer("strait COMMAND --help says more.");
  Task task;
  add_codec(app, task);
  add_info(app, task);
  add_topo(app, task);
  add_plan(app, task);
  add_sim(app, task);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& failure) {
    if (failure.get_exit_code() == 0) return app.exit(failure);
    const std::string first = argc > 1 ? argv[1] : "";
    if (app.get_subcommands().empty() && !first.empty() && first.front() != '-')
      return finish(error(Code::kInvalidArgument, "no command \"{}\"; see strait --help", first));
    return finish(error(Code::kInvalidArgument, "{}; see {} --help", failure.what(), named(app)));
  }
  return finish(task());
}

}  // namespace
}  // namespace strait::tool

int main(int argc, char** argv) {
  return strait::tool::run(argc, argv);
}
