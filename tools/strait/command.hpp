// The subcommands of `strait`: each adds itself and its flags to the command line, and sets the
// task when it is the one that was asked for. The task runs after the whole line has been read;
// what it cannot do is one sentence, which main() prints. One thread; no cost until the task runs.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "base/status.hpp"

namespace strait::tool {

// How a command ended: its Status, and the exit code that follows from it, unless the command
// stands in for another program and has that program's.
struct Ending {
  Ending(Status how)  // NOLINT: implicit by design
      : status(std::move(how)),
        exit_code(status.ok()                             ? 0
                  : status.code() == Code::kInternalError ? 1
                                                          : 2) {}
  Ending(Status how, int code) : status(std::move(how)), exit_code(code) {}

  Status status;
  int exit_code;
};

using Task = std::function<Ending()>;

void add_codec(CLI::App& app, Task& task);
// What follows "--" on the line is the command, and not for CLI to read; it ends with a null.
void add_exec(CLI::App& app, Task& task, char** command);
void add_info(CLI::App& app, Task& task);
void add_topo(CLI::App& app, Task& task);
void add_plan(CLI::App& app, Task& task);
void add_sim(CLI::App& app, Task& task);

}  // namespace strait::tool
