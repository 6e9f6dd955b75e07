// From the word that a user types to the files that the kernel runs for it: the program as PATH
// finds it, then the interpreters that "#!" lines name, and what env starts for them. And whether a
// library can be put in place of one that they load. Any thread; costs a look at each file.
#pragma once

#include <string>
#include <vector>

#include "base/status.hpp"

namespace strait::tool {

// As execvp looks for it. kInvalidArgument: not there; kInvalidUsage: there, but not to be run.
Result<std::string> find_program(const std::string& command);

// The program itself first; last what is no script.
Result<std::vector<std::string>> files_run_by(const std::string& program);

// kInvalidUsage, and why, where a preloaded library would never be called.
Status check_replaceable(const std::string& file);

}  // namespace strait::tool
