#include "transport/ucx/calls.hpp"

#include <dlfcn.h>

#include <array>
#include <csignal>
#include <cstdlib>

namespace strait::ucx {
namespace {

constexpr int kSignals = 32;
constexpr const char* kMemoryHooks = "UCX_MEM_EVENTS";

// UCX reads its environment and takes hold of the process while it is opened. Whoever has opened it
// before decided for all; so did who set its variables.
class UntouchedProgram {
 public:
  explicit UntouchedProgram(const std::string& library) {
    void* const there = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (there != nullptr) dlclose(there);
    hooks_ = there == nullptr && std::getenv(kMemoryHooks) == nullptr;
    signals_ = there == nullptr && std::getenv("UCX_ERROR_SIGNALS") == nullptr;
    if (hooks_) setenv(kMemoryHooks, "n", 0);
    for (int i = 1; i < kSignals; ++i) sigaction(i, nullptr, &before_[static_cast<size_t>(i)]);
  }
  ~UntouchedProgram() {
    if (hooks_) unsetenv(kMemoryHooks);
    for (int i = 1; signals_ && i < kSignals; ++i) {
      const struct sigaction& before = before_[static_cast<size_t>(i)];
      struct sigaction now {};
      if (sigaction(i, nullptr, &now) == 0 && now.sa_sigaction != before.sa_sigaction)
        sigaction(i, &before, nullptr);
    }
  }

 private:
  bool hooks_ = false;
  bool signals_ = false;
  std::array<struct sigaction, kSignals> before_{};
};

}  // namespace

Result<Calls> load_calls(const std::string& library) {
  const UntouchedProgram untouched(library);
  void* const file = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (file == nullptr)
    return error(Code::kSystemError, "{} cannot be opened ({}); install libucx0", library,
                 dlerror());
  Calls calls;
  const char* missing = nullptr;
#define STRAIT_CALL(name)                                                         \
  calls.name = reinterpret_cast<decltype(calls.name)>(dlsym(file, "ucp_" #name)); \
  if (calls.name == nullptr) missing = "ucp_" #name;
  STRAIT_UCX_CALLS(STRAIT_CALL)
#undef STRAIT_CALL
  calls.status_string =
      reinterpret_cast<decltype(calls.status_string)>(dlsym(file, "ucs_status_string"));
  if (calls.status_string == nullptr) missing = "ucs_status_string";
  if (missing != nullptr)
    return error(Code::kSystemError, "{} has no {}; install UCX 1.13 or later", library, missing);
  return calls;
}

Status ucx_error(const Calls& calls, const std::string& what, ucs_status_t status) {
  return error(Code::kSystemError, "{}: {} (UCX {})", what, calls.status_string(status),
               calls.get_version_string());
}

}  // namespace strait::ucx
