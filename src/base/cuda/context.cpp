#include "base/cuda/context.hpp"

#include "base/cuda/scope.hpp"

namespace strait::cuda {

Result<PrimaryContext> PrimaryContext::retain(const Driver& driver, int device) {
  ContextHandle context = nullptr;
  STRAIT_TRY(driver.cuDevicePrimaryCtxRetain(&context, device).at(fmt::format("cuda:{}", device)));
  return PrimaryContext(driver, device, context);
}

PrimaryContext& PrimaryContext::operator=(PrimaryContext&& other) noexcept {
  if (this == &other) return *this;
  release();
  driver_ = other.driver_;
  device_ = other.device_;
  context_ = std::exchange(other.context_, nullptr);
  return *this;
}

void PrimaryContext::release() {
  if (context_ == nullptr) return;
  report_release("cuDevicePrimaryCtxRelease", driver_->cuDevicePrimaryCtxRelease.code(device_));
  context_ = nullptr;
}

Result<ContextHandle> current_context(const Driver& driver) {
  ContextHandle context = nullptr;
  STRAIT_TRY(driver.cuCtxGetCurrent(&context));
  return context;
}

Result<int> device_of(const Driver& driver, ContextHandle context) {
  STRAIT_ASSIGN(const ContextScope scope, ContextScope::enter(driver, context));
  int device = 0;
  STRAIT_TRY(driver.cuCtxGetDevice(&device));
  return device;
}

Result<size_t> free_bytes(const Driver& driver, ContextHandle context) {
  STRAIT_ASSIGN(const ContextScope scope, ContextScope::enter(driver, context));
  size_t unused_bytes = 0;
  size_t total_bytes = 0;
  STRAIT_TRY(driver.cuMemGetInfo(&unused_bytes, &total_bytes));
  return unused_bytes;
}

Status enable_peer_access(const Driver& driver, ContextHandle from, ContextHandle to) {
  STRAIT_ASSIGN(const ContextScope scope, ContextScope::enter(driver, from));
  const int code = driver.cuCtxEnablePeerAccess.code(to, 0);
  if (code == kSuccess || code == kPeerAccessAlreadyEnabled) return Status();
  return failure("cuCtxEnablePeerAccess", code);
}

}  // namespace strait::cuda
