// Host streams as the API hands them out: opaque handles. A default stream (null, or CUDA's 1 and 2) has nothing to wait
// for, since its work is done when the call returns. Any thread.
#pragma once

#include "base/status.hpp"

namespace strait {

Result<void*> create_stream();
Status synchronize_stream(void* handle);
Result<bool> stream_is_idle(void* handle);
Status destroy_stream(void* handle);

}  // namespace strait
