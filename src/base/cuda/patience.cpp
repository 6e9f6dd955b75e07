#include "base/cuda/patience.hpp"

#include <poll.h>

#include <ctime>

namespace strait::cuda {
namespace {

constexpr int64_t kSpinNs = 50'000;
constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 100'000};

}  // namespace

Status wait_until(const std::function<Result<bool>()>& is_done, Deadline deadline,
                  const char* what) {
  const int64_t began_ns = now_ns();
  for (;;) {
    STRAIT_ASSIGN(const bool done, is_done());
    if (done) return Status();
    const int64_t now = now_ns();
    if (now >= deadline.at_ns())
      return error(Code::kTimeout,
                   "{} of the GPU is not done after {} ms; a kernel may wait for a rank that is "
                   "gone: abort the communicator",
                   what, (now - began_ns) / 1'000'000);
    if (now - began_ns > kSpinNs) ppoll(nullptr, 0, &kPause, nullptr);
  }
}

}  // namespace strait::cuda
