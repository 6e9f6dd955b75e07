#include "api/result.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "api/export.hpp"

namespace strait::api {
namespace {

constexpr size_t kLastErrorBytes = 1024;
char last_error_text[kLastErrorBytes] = "";
std::mutex last_error_mutex;

}  // namespace

ncclResult_t report(const Status& status) {
  std::lock_guard lock(last_error_mutex);
  const size_t length = std::min(status.message().size(), kLastErrorBytes - 1);
  std::memcpy(last_error_text, status.message().data(), length);
  last_error_text[length] = '\0';
  return static_cast<ncclResult_t>(status.code());
}

const char* last_error() {
  return last_error_text;
}

}  // namespace strait::api

STRAIT_API(const char*, GetLastError, (ncclComm_t)) {
  return strait::api::last_error();
}

STRAIT_API(const char*, GetErrorString, (ncclResult_t result)) {
  // Clients and log scanners match on these texts.
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
    case ncclSystemError:
      return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
    case ncclInternalError:
      return "internal error - please report this issue to the NCCL developers";
    case ncclInvalidArgument:
      return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case ncclInvalidUsage:
      return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInProgress:
      return "NCCL operation in progress";
    case ncclTimeout:
      return "timeout";
    default:
      return "unknown result code";
  }
}
