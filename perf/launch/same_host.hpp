// Which process this is among those of its host, by host names: collective over the launcher, by
// the main thread.
#pragma once

#include "perf/launch/launcher.hpp"

namespace strait::perf {

Result<int> index_on_host(Launcher& launcher);

}  // namespace strait::perf
