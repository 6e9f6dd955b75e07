#include <fmt/format.h>

#include <memory>

#include "tools/strait/command.hpp"
#include "tools/strait/machine.hpp"
#include "tools/strait/settings.hpp"

namespace strait::tool {

void add_info(CLI::App& app, Task& task) {
  CLI::App* info =
      app.add_subcommand("info", "this machine as the library sees it, or its settings");
  auto env = std::make_shared<bool>(false);
  auto names = std::make_shared<std::vector<std::string>>();
  CLI::Option* flag =
      info->add_flag("--env", *env, "the settings, and what the environment makes of them");
  info->add_option("SETTING", *names, "only these settings, as STRAIT_SLOTS")->needs(flag);
  info->footer(
      "--env ends with code 2 when a STRAIT_ variable of the environment is no setting or bad.\n"
      "  strait info --env STRAIT_COMPRESS");
  info->callback(
      [=, &task] { task = [=] { return *env ? show_settings(*names) : show_machine(); }; });
}

}  // namespace strait::tool
