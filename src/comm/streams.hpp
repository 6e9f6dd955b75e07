// Host streams as the API hands them out: opaque handles. A default stream (null, or CUDA's 1 and
// 2) has nothing to wait for, since its work is done when the call returns. Any thread.
#pragma once

#include "base/status.hpp"

namespace strait {

void* open_stream();
Status wait_for_stream(const void* handle);
Result<bool> is_stream_idle(const void* handle);
Status close_stream(const void* handle);

}  // namespace strait
