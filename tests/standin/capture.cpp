#include "standin/capture.hpp"

#include <algorithm>

#include "standin/machine.hpp"

namespace strait::standin {
namespace {

bool is_unsafe(Call call) {
  constexpr std::array kUnsafe = {
      Call::cuMemAlloc,          Call::cuMemFree,          Call::cuMemHostAlloc,
      Call::cuMemFreeHost,       Call::cuMemHostRegister,  Call::cuMemHostUnregister,
      Call::cuMemCreate,         Call::cuMemMap,           Call::cuMemUnmap,
      Call::cuMemSetAccess,      Call::cuIpcOpenMemHandle, Call::cuIpcCloseMemHandle,
      Call::cuModuleLoadData,    Call::cuModuleUnload,     Call::cuCtxEnablePeerAccess,
      Call::cuEventQuery,        Call::cuEventSynchronize, Call::cuStreamQuery,
      Call::cuStreamSynchronize, Call::cuCtxSynchronize,   Call::cuMemcpy,
      Call::cuMemAllocManaged,
  };
  return std::find(kUnsafe.begin(), kUnsafe.end(), call) != kUnsafe.end();
}

bool forbids(const Capture& capture, CaptureMode mine) {
  if (capture.broken || mine == kCaptureRelaxed || capture.mode == kCaptureRelaxed) return false;
  if (capture.thread == std::this_thread::get_id()) return true;
  return mine == kCaptureGlobal && capture.mode == kCaptureGlobal;
}

}  // namespace

CaptureMode& thread_capture_mode() {
  thread_local CaptureMode mode = kCaptureGlobal;
  return mode;
}

int break_capture(Capture& capture, int code) {
  capture.broken = true;
  return code;
}

int check_unsafe_call(Call call) {
  if (machine().captures.empty() || !is_unsafe(call)) return 0;
  int code = 0;
  for (const CaptureRef& capture : machine().captures)
    if (forbids(*capture, thread_capture_mode()))
      code = break_capture(*capture, kStreamCaptureUnsupported);
  return code;
}

int check_legacy_use(const Context& context) {
  int code = 0;
  for (const CaptureRef& capture : machine().captures)
    for (const auto& stream : capture->streams)
      if (stream->blocking && stream->context.get() == &context)
        code = break_capture(*capture, kStreamCaptureImplicit);
  return code;
}

Node& add_node(Stream& stream, Work work) {
  auto& nodes = stream.capture->graph->body->nodes;
  nodes.push_back({.work = std::move(work), .after = std::move(stream.frontier)});
  stream.frontier = {&nodes.back()};
  return nodes.back();
}

int join_capture(Stream& stream, const CaptureRef& capture, const std::vector<Node*>& after) {
  if (stream.capture != nullptr && stream.capture != capture) {
    capture->broken = true;
    return break_capture(*stream.capture, kStreamCaptureMerge);
  }
  if (stream.legacy) return break_capture(*capture, kStreamCaptureImplicit);
  stream.capture = capture;
  capture->streams.insert(stream.shared_from_this());
  for (Node* node : after)
    if (std::find(stream.frontier.begin(), stream.frontier.end(), node) == stream.frontier.end())
      stream.frontier.push_back(node);
  return 0;
}

void end_capture(const CaptureRef& capture) {
  for (const auto& stream : capture->streams) {
    stream->capture.reset();
    stream->frontier.clear();
  }
  capture->streams.clear();
  capture->ended = true;
  capture->graph.reset();
  machine().captures.erase(capture);
}

bool is_joined(const Capture& capture) {
  std::set<const Node*> seen;
  std::vector<const Node*> open(capture.origin->frontier.begin(), capture.origin->frontier.end());
  while (!open.empty()) {
    const Node* const node = open.back();
    open.pop_back();
    if (!seen.insert(node).second) continue;
    open.insert(open.end(), node->after.begin(), node->after.end());
  }
  return seen.size() == capture.graph->body->nodes.size();
}

}  // namespace strait::standin
