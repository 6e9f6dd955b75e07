#include "base/cuda/scope.hpp"

namespace strait::cuda {

Result<ContextScope> ContextScope::enter(const Driver& driver, ContextHandle context) {
  STRAIT_TRY(driver.cuCtxPushCurrent(context));
  CaptureMode mode = kCaptureRelaxed;
  const Status relaxed = driver.cuThreadExchangeStreamCaptureMode(&mode);
  if (relaxed.ok()) return ContextScope(driver, mode);
  ContextHandle popped = nullptr;
  report_release("cuCtxPopCurrent", driver.cuCtxPopCurrent.code(&popped));
  return relaxed;
}

ContextScope::~ContextScope() {
  if (driver_ == nullptr) return;
  report_release("cuThreadExchangeStreamCaptureMode",
                 driver_->cuThreadExchangeStreamCaptureMode.code(&mode_));
  ContextHandle popped = nullptr;
  report_release("cuCtxPopCurrent", driver_->cuCtxPopCurrent.code(&popped));
}

}  // namespace strait::cuda
