// Captures: streams that record into a graph in place of running, and the rules that break them, as
// CUDA has them: calls that could wait or allocate while a capture is under way (by the thread's
// mode), the legacy stream beside a captured one, streams that were never joined. Guarded by the
// machine's lock.
#pragma once

#include <set>
#include <thread>

#include "standin/graph.hpp"

namespace strait::standin {

struct Capture {
  uint64_t id = 0;
  CaptureMode mode = kCaptureGlobal;
  std::thread::id thread;
  bool broken = false;
  bool ended = false;
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();  // null once it has ended
  Stream* origin = nullptr;
  std::set<std::shared_ptr<Stream>> streams;
};
using CaptureRef = std::shared_ptr<Capture>;

CaptureMode& thread_capture_mode();

// Before a call that could wait or allocate: 0, or the code with which it breaks the captures that
// forbid it to this thread.
int check_unsafe_call(Call call);
// Before the legacy stream is used: it would have to wait for a captured one.
int check_legacy_use(const Context& context);
// Breaks the capture and returns the code.
int break_capture(Capture& capture, int code);

Node& add_node(Stream& stream, Work work);
// The stream joins the capture after those nodes, or gets them as one more thing to come after.
int join_capture(Stream& stream, const CaptureRef& capture, const std::vector<Node*>& after);
void end_capture(const CaptureRef& capture);
// Whether all that was captured comes before what the origin has last.
bool is_joined(const Capture& capture);

}  // namespace strait::standin
