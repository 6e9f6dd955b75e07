// strait: asks the library's own parts what they would do, on this machine or on one that is only
// described. Exit code 0: done; 1: what was asked for turned out wrong (a plan that does not prove,
// bytes that did not come back); 2: bad input, told in one sentence on standard error. `strait
// exec` becomes another program, and its exit code is that program's.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "comm/version.hpp"
#include "tools/strait/command.hpp"

namespace strait::tool {
namespace {

int finish(const Ending& ending) {
  if (ending.status.ok()) return 0;
  std::fflush(stdout);
  fmt::print(stderr, "strait: {}\n", ending.status.message());
  return ending.exit_code;
}

// How many of the words are for us: those after "--" belong to the program that exec starts.
int own_words(int argc, char** argv) {
  if (argc < 2 || std::string_view(argv[1]) != "exec") return argc;
  return static_cast<int>(std::find(argv, argv + argc, std::string_view("--")) - argv);
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
  const int own = own_words(argc, argv);
  add_codec(app, task);
  add_exec(app, task, argv + std::min(own + 1, argc));
  add_info(app, task);
  add_topo(app, task);
  add_plan(app, task);
  add_sim(app, task);
  try {
    app.parse(own, argv);
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
