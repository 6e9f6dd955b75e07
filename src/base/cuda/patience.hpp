// How the host waits for a device: it asks often for 50 us, then every 100 us, and gives up at a
// deadline. The driver's own waits know no deadline. One thread; costs a core for the first 50 us.
#pragma once

#include <functional>

#include "base/clock.hpp"
#include "base/status.hpp"

namespace strait::cuda {

// `what` names the thing in the sentence of Code::kTimeout.
Status wait_until(const std::function<Result<bool>()>& is_done, Deadline deadline,
                  const char* what);

}  // namespace strait::cuda
