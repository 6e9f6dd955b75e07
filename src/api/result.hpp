// From Status to what a C caller sees: a code, and the sentence that ncclGetLastError returns. Any
// thread.
#pragma once

#include <exception>
#include <string>

#include "base/status.hpp"
#include "nccl.h"

namespace strait::api {

// Keeps the message of a failure as the process's last error and returns its code.
ncclResult_t report(const Status& status);
// Never null; the same buffer for the life of the process.
const char* last_error();

// Runs the body of an API function; nothing thrown by the standard library leaves it.
template <class Body>
ncclResult_t guarded(const char* function, Body&& body) {
  try {
    const Status status = body();
    if (status.code() == Code::kInProgress) return ncclInProgress;
    return status.ok() ? ncclSuccess : report(status.at(function));
  } catch (const std::bad_alloc&) {
    return report(error(Code::kSystemError, "{}: out of memory", function));
  } catch (const std::exception& failure) {
    return report(error(Code::kInternalError, "{}: {}", function, failure.what()));
  }
}

}  // namespace strait::api
