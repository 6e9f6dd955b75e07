// Which context is current in a thread, and contexts that a program makes itself.
#include "standin/capture.hpp"
#include "standin/machine.hpp"

namespace strait::standin {
namespace {

int find_context(ContextHandle handle, ContextRef& context) {
  context = machine().contexts.find(handle);
  return context == nullptr ? kInvalidContext : kSuccess;
}

ContextHandle handle_of(const ContextRef& context) {
  return reinterpret_cast<ContextHandle>(context.get());
}

}  // namespace

int cuCtxCreate(ContextHandle* context, unsigned, int device) {
  if (device < 0 || device >= machine().settings.devices) return kInvalidDevice;
  context_stack().push_back(make_context(device, false));
  *context = handle_of(context_stack().back());
  return kSuccess;
}

int cuCtxDestroy(ContextHandle handle) {
  ContextRef context;
  if (const int code = find_context(handle, context); code != 0) return code;
  if (context->primary) return kInvalidContext;
  end_context(context);
  auto& stack = context_stack();
  if (!stack.empty() && stack.back() == context) stack.pop_back();
  return kSuccess;
}

int cuCtxGetCurrent(ContextHandle* context) {
  const auto& stack = context_stack();
  *context = stack.empty() ? nullptr : handle_of(stack.back());
  return kSuccess;
}

int cuCtxSetCurrent(ContextHandle handle) {
  auto& stack = context_stack();
  if (handle == nullptr) {
    if (!stack.empty()) stack.pop_back();
    return kSuccess;
  }
  ContextRef context;
  if (const int code = find_context(handle, context); code != 0) return code;
  if (stack.empty()) stack.emplace_back();
  stack.back() = context;
  return kSuccess;
}

int cuCtxPushCurrent(ContextHandle handle) {
  ContextRef context;
  if (const int code = find_context(handle, context); code != 0) return code;
  context_stack().push_back(context);
  return kSuccess;
}

int cuCtxPopCurrent(ContextHandle* context) {
  auto& stack = context_stack();
  if (stack.empty()) return kInvalidContext;
  if (context != nullptr) *context = handle_of(stack.back());
  stack.pop_back();
  return kSuccess;
}

int cuCtxGetDevice(int* device) {
  const auto& stack = context_stack();
  if (stack.empty() || stack.back() == nullptr) return kInvalidContext;
  *device = stack.back()->device;
  return kSuccess;
}

int cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  ContextRef context;
  if (const int code = current(context); code != 0) return code;
  *least = 0;
  *greatest = -5;
  return kSuccess;
}

int cuCtxSynchronize() {
  ContextRef context;
  if (const int code = current(context); code != 0) return code;
  wait_for_all_work(context);
  return context->failed;
}

int cuCtxEnablePeerAccess(ContextHandle handle, unsigned) {
  ContextRef context, peer;
  if (const int code = current(context); code != 0) return code;
  if (const int code = find_context(handle, peer); code != 0) return code;
  if (!machine().settings.peer || peer->device == context->device) return kPeerAccessUnsupported;
  return context->peers.insert(peer->device).second ? kSuccess : kPeerAccessAlreadyEnabled;
}

int cuCtxDisablePeerAccess(ContextHandle handle) {
  ContextRef context, peer;
  if (const int code = current(context); code != 0) return code;
  if (const int code = find_context(handle, peer); code != 0) return code;
  return context->peers.erase(peer->device) == 1 ? kSuccess : kPeerAccessNotEnabled;
}

int cuThreadExchangeStreamCaptureMode(CaptureMode* mode) {
  if (*mode < kCaptureGlobal || *mode > kCaptureRelaxed) return kInvalidValue;
  std::swap(*mode, thread_capture_mode());
  return kSuccess;
}

}  // namespace strait::standin
