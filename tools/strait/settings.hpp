// The table of settings, with what the environment of this process makes of them, on standard
// output. One thread, since it reads the environment; a few lines a setting.
#pragma once

#include <string>
#include <vector>

#include "base/status.hpp"

namespace strait::tool {

// Prints the named settings (none: all), with or without STRAIT_ in front. Fails after printing
// when a STRAIT_ variable of the environment is no setting or has a bad value.
Status show_settings(const std::vector<std::string>& names);

}  // namespace strait::tool
