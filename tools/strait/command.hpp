// The subcommands of `strait`: each adds itself and its flags to the command line, and sets the
// task when it is the one that was asked for. The task runs after the whole line has been read;
// what it cannot do is one sentence, which main() prints. One thread; no cost until the task runs.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "base/status.hpp"

namespace strait::tool {

using Task = std::function<Status()>;

void add_codec(CLI::App& app, Task& task);
void add_info(CLI::App& app, Task& task);
void add_topo(CLI::App& app, Task& task);
void add_plan(CLI::App& app, Task& task);
void add_sim(CLI::App& app, Task& task);

}  // namespace strait::tool
