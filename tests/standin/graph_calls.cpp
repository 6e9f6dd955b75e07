// Capture into graphs, graphs made to run, and objects that live as long as a graph.
#include "standin/capture.hpp"
#include "standin/machine.hpp"

namespace strait::standin {

int cuStreamBeginCapture(StreamHandle handle, CaptureMode mode) {
  std::shared_ptr<Stream> stream;
  if (const int code = working_stream_of(handle, stream); code != 0) return code;
  if (stream->legacy) return kStreamCaptureUnsupported;
  if (stream->capture != nullptr) return kInvalidValue;
  auto capture = std::make_shared<Capture>();
  capture->id = machine().next_id++;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = stream.get();
  capture->streams.insert(stream);
  stream->capture = capture;
  stream->frontier.clear();
  machine().captures.insert(std::move(capture));
  return kSuccess;
}

int cuStreamEndCapture(StreamHandle handle, GraphHandle* graph) {
  std::shared_ptr<Stream> stream;
  if (const int code = stream_of(handle, stream); code != 0) return code;
  *graph = nullptr;
  const CaptureRef capture = stream->capture;
  if (capture == nullptr) return kInvalidValue;
  if (capture->origin != stream.get()) return break_capture(*capture, kStreamCaptureUnmatched);
  if (capture->mode != kCaptureRelaxed && capture->thread != std::this_thread::get_id())
    return break_capture(*capture, kStreamCaptureWrongThread);
  const bool joined = is_joined(*capture);
  const std::shared_ptr<Graph> made = capture->graph;
  end_capture(capture);
  if (capture->broken) return kStreamCaptureInvalidated;
  if (!joined) return kStreamCaptureUnjoined;
  *graph = machine().graphs.add(made);
  return kSuccess;
}

int cuStreamIsCapturing(StreamHandle handle, CaptureStatus* status) {
  return cuStreamGetCaptureInfo(handle, status, nullptr, nullptr, nullptr, nullptr);
}

int cuStreamGetCaptureInfo(StreamHandle handle, CaptureStatus* status, uint64_t* id,
                           GraphHandle* graph, const GraphNodeHandle** dependencies,
                           size_t* dependency_count) {
  std::shared_ptr<Stream> stream;
  if (const int code = stream_of(handle, stream); code != 0) return code;
  if (dependencies != nullptr || dependency_count != nullptr) return kNotSupported;
  // The legacy stream is asked: no answer would be right beside a capture, but none is broken.
  for (const CaptureRef& capture : machine().captures)
    for (const auto& other : capture->streams)
      if (stream->legacy && other->blocking && other->context == stream->context)
        return kStreamCaptureImplicit;
  const CaptureRef& capture = stream->capture;
  *status = capture == nullptr ? kCaptureNone
            : capture->broken  ? kCaptureInvalidated
                               : kCaptureActive;
  if (*status != kCaptureActive) return kSuccess;
  if (id != nullptr) *id = capture->id;
  if (graph != nullptr) *graph = reinterpret_cast<GraphHandle>(capture->graph.get());
  return kSuccess;
}

int cuGraphInstantiateWithFlags(GraphExecHandle* handle, GraphHandle graph_handle,
                                unsigned long long) {
  const auto graph = machine().graphs.find(graph_handle);
  if (graph == nullptr) return kInvalidValue;
  auto exec = std::make_shared<GraphExec>();
  exec->body = graph->body;
  *handle = machine().execs.add(std::move(exec));
  return kSuccess;
}

namespace {

NodeTickets tickets_of(const GraphBody& body) {
  NodeTickets tickets;
  for (const Node& node : body.nodes)
    if (node.awaited != nullptr && node.awaited->ticket != nullptr)
      tickets[&node] = node.awaited->ticket;
  for (const Node& node : body.nodes)
    if (node.recorded != nullptr)
      tickets[&node] = node.recorded->ticket = std::make_shared<Ticket>();
  return tickets;
}

}  // namespace

int cuGraphLaunch(GraphExecHandle handle, StreamHandle stream_handle) {
  std::shared_ptr<Stream> stream;
  if (const int code = working_stream_of(stream_handle, stream); code != 0) return code;
  const auto exec = machine().execs.find(handle);
  if (exec == nullptr) return kInvalidValue;
  if (stream->capture != nullptr) return break_capture(*stream->capture, kStreamCaptureUnsupported);
  std::vector<TicketRef> after;
  if (exec->last != nullptr) after.push_back(exec->last);
  exec->last = enqueue(*stream,
                       {stream->context,
                        [body = exec->body, tickets = tickets_of(*exec->body)] {
                          run_graph(*body, tickets);
                          return 0;
                        }},
                       std::move(after));
  return kSuccess;
}

int cuGraphExecDestroy(GraphExecHandle handle) {
  return machine().execs.remove(handle) == nullptr ? kInvalidValue : kSuccess;
}

int cuGraphDestroy(GraphHandle handle) {
  return machine().graphs.remove(handle) == nullptr ? kInvalidValue : kSuccess;
}

int cuUserObjectCreate(UserObjectHandle* handle, void* argument, HostFunction destroy,
                       unsigned references, unsigned flags) {
  if (destroy == nullptr || references == 0 || flags != kUserObjectNoDestructorSync)
    return kInvalidValue;
  auto object = std::make_shared<UserObject>();
  object->destroy = destroy;
  object->argument = argument;
  object->references = references;
  *handle = machine().user_objects.add(std::move(object));
  return kSuccess;
}

int cuUserObjectRelease(UserObjectHandle handle, unsigned count) {
  const auto object = machine().user_objects.find(handle);
  if (object == nullptr || count == 0 || count > object->references) return kInvalidValue;
  object->references -= count;
  if (object->references == 0) machine().user_objects.remove(handle);
  return kSuccess;
}

int cuGraphRetainUserObject(GraphHandle graph_handle, UserObjectHandle handle, unsigned count,
                            unsigned flags) {
  const auto object = machine().user_objects.find(handle);
  if (object == nullptr || count == 0) return kInvalidValue;
  GraphBodyRef body;
  if (const auto graph = machine().graphs.find(graph_handle)) body = graph->body;
  for (const CaptureRef& capture : machine().captures)
    if (reinterpret_cast<GraphHandle>(capture->graph.get()) == graph_handle)
      body = capture->graph->body;
  if (body == nullptr) return kInvalidValue;
  body->kept.push_back(object);
  return flags == kGraphUserObjectMove ? cuUserObjectRelease(handle, count) : kSuccess;
}

}  // namespace strait::standin
