// The watcher: a process of its own that looks, for as long as a program runs, which NCCL the
// program and its descendants have mapped, and tells what is wrong on standard error, once for each
// process. It holds no other file of the program, is no child of it, and ends when it ends.
#pragma once

#include <string>

#include "base/fd.hpp"
#include "base/status.hpp"

namespace strait::tool {

struct WatchOrder {
  std::string library;   // ours, without symbolic links
  bool strict = false;   // end the program when it has another NCCL
  bool verbose = false;  // tell too when all is well
};

// Watches the calling process, which has one thread and is about to execute the program. Looking
// begins when the file that is returned closes, as it does by itself then.
Result<UniqueFd> start_watcher(const WatchOrder& order);

}  // namespace strait::tool
