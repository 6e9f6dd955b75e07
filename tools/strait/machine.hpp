// What the library sees of this machine, on standard output: names, kernels, memory, interfaces.
// One thread; reads a few small files and the list of interfaces.
#pragma once

#include "base/status.hpp"

namespace strait::tool {

// Fails after printing the rest when the settings leave no network interface.
Status show_machine();

}  // namespace strait::tool
