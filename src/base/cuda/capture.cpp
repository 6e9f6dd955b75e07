#include "base/cuda/capture.hpp"

#include <memory>

namespace strait::cuda {
namespace {

struct Call {
  HostFunction function;
  void* argument;
  bool wanted = true;
};

void run_once(void* argument) {
  const std::unique_ptr<Call> call(static_cast<Call*>(argument));
  if (call->wanted) call->function(call->argument);
}

}  // namespace

Result<Capture> capture_of(const Driver& driver, StreamHandle stream) {
  CaptureStatus status = kCaptureNone;
  Capture capture;
  STRAIT_TRY(driver.cuStreamGetCaptureInfo(stream, &status, &capture.id, &capture.graph, nullptr,
                                           nullptr));
  if (status == kCaptureInvalidated)
    return failure("cuStreamGetCaptureInfo", kStreamCaptureInvalidated);
  capture.active = status == kCaptureActive;
  return capture;
}

Status call_after_graph(const Driver& driver, GraphHandle graph, HostFunction function,
                        void* argument) {
  auto call = std::make_unique<Call>(Call{function, argument});
  UserObjectHandle object = nullptr;
  STRAIT_TRY(
      driver.cuUserObjectCreate(&object, call.get(), run_once, 1, kUserObjectNoDestructorSync));
  Call* const owned_by_object = call.release();
  const Status kept = driver.cuGraphRetainUserObject(graph, object, 1, kGraphUserObjectMove);
  if (kept.ok()) return kept;
  owned_by_object->wanted = false;
  report_release("cuUserObjectRelease", driver.cuUserObjectRelease.code(object, 1));
  return kept;
}

}  // namespace strait::cuda
