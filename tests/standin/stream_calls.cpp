// Streams and events.
#include "standin/capture.hpp"
#include "standin/machine.hpp"

namespace strait::standin {
namespace {

std::shared_ptr<Event> event_of(EventHandle handle) {
  return machine().events.find(handle);
}

int wait_for_stream(Stream& stream) {
  if (stream.capture != nullptr) return break_capture(*stream.capture, kStreamCaptureUnsupported);
  const std::vector<TicketRef> tickets = pending(stream);
  {
    const Gap gap;
    for (const TicketRef& ticket : tickets) ticket->wait();
  }
  return stream.context->failed;
}

// An event that a capture recorded has no state of its own to look at.
int check_recorded(const Event& event) {
  if (event.capture == nullptr) return event.context->failed;
  return break_capture(*event.capture, kCapturedEvent);  // harmless when it has ended
}

}  // namespace

int cuStreamCreateWithPriority(StreamHandle* handle, unsigned flags, int) {
  ContextRef context;
  if (const int code = current(context); code != 0) return code;
  if (flags > kStreamNonBlocking) return kInvalidValue;
  *handle = machine().streams.add(make_stream(context, flags == 0));
  return kSuccess;
}

int cuStreamCreate(StreamHandle* handle, unsigned flags) {
  return cuStreamCreateWithPriority(handle, flags, 0);
}

int cuStreamDestroy(StreamHandle handle) {
  const auto stream = machine().streams.find(handle);
  if (stream == nullptr) return kInvalidHandle;
  if (stream->capture != nullptr) return break_capture(*stream->capture, kStreamCaptureUnsupported);
  machine().streams.remove(handle);  // its worker does what is queued first
  return kSuccess;
}

int cuStreamQuery(StreamHandle handle) {
  std::shared_ptr<Stream> stream;
  if (const int code = working_stream_of(handle, stream); code != 0) return code;
  if (stream->capture != nullptr) return break_capture(*stream->capture, kStreamCaptureUnsupported);
  return pending(*stream).empty() ? stream->context->failed.load() : kNotReady;
}

int cuStreamSynchronize(StreamHandle handle) {
  std::shared_ptr<Stream> stream;
  if (const int code = working_stream_of(handle, stream); code != 0) return code;
  return wait_for_stream(*stream);
}

int cuStreamGetCtx(StreamHandle handle, ContextHandle* context) {
  std::shared_ptr<Stream> stream;
  if (const int code = stream_of(handle, stream); code != 0) return code;
  *context = reinterpret_cast<ContextHandle>(stream->context.get());
  return kSuccess;
}

int cuStreamGetId(StreamHandle handle, unsigned long long* id) {
  std::shared_ptr<Stream> stream;
  if (const int code = stream_of(handle, stream); code != 0) return code;
  *id = stream->id;
  return kSuccess;
}

int cuEventCreate(EventHandle* handle, unsigned flags) {
  ContextRef context;
  if (const int code = current(context); code != 0) return code;
  auto event = std::make_shared<Event>();
  event->context = context;
  event->timing = (flags & kEventDisableTiming) == 0;
  *handle = machine().events.add(std::move(event));
  return kSuccess;
}

int cuEventDestroy(EventHandle handle) {
  return machine().events.remove(handle) == nullptr ? kInvalidHandle : kSuccess;
}

int cuEventRecord(EventHandle handle, StreamHandle stream_handle) {
  std::shared_ptr<Stream> stream;
  if (const int code = working_stream_of(stream_handle, stream); code != 0) return code;
  const auto event = event_of(handle);
  if (event == nullptr || event->context != stream->context) return kInvalidHandle;
  event->capture = stream->capture;
  event->frontier = stream->frontier;
  event->ticket =
      stream->capture == nullptr ? enqueue(*stream, {stream->context, nullptr}) : nullptr;
  return kSuccess;
}

// A node of the graph, in place of a mark of the capture.
int cuEventRecordWithFlags(EventHandle handle, StreamHandle stream_handle, unsigned flags) {
  if (flags == 0) return cuEventRecord(handle, stream_handle);
  std::shared_ptr<Stream> stream;
  if (const int code = working_stream_of(stream_handle, stream); code != 0) return code;
  const auto event = event_of(handle);
  if (event == nullptr || event->context != stream->context) return kInvalidHandle;
  if (flags != kEventRecordExternal || stream->capture == nullptr) return kInvalidValue;
  add_node(*stream, {stream->context, nullptr}).recorded = event;
  return kSuccess;
}

int cuEventQuery(EventHandle handle) {
  const auto event = event_of(handle);
  if (event == nullptr) return kInvalidHandle;
  if (const int code = check_recorded(*event); code != 0) return code;
  return event->ticket == nullptr || event->ticket->done() ? kSuccess : kNotReady;
}

int cuEventSynchronize(EventHandle handle) {
  const auto event = event_of(handle);
  if (event == nullptr) return kInvalidHandle;
  if (const int code = check_recorded(*event); code != 0) return code;
  if (const TicketRef ticket = event->ticket; ticket != nullptr) {
    const Gap gap;
    ticket->wait();
  }
  return event->context->failed;
}

int cuEventElapsedTime(float* milliseconds, EventHandle from_handle, EventHandle to_handle) {
  const auto from = event_of(from_handle);
  const auto to = event_of(to_handle);
  if (from == nullptr || to == nullptr || !from->timing || !to->timing || from->ticket == nullptr ||
      to->ticket == nullptr)
    return kInvalidHandle;
  if (!from->ticket->done() || !to->ticket->done()) return kNotReady;
  *milliseconds = static_cast<float>(to->ticket->at_ns() - from->ticket->at_ns()) / 1e6F;
  return kSuccess;
}

int cuStreamWaitEvent(StreamHandle stream_handle, EventHandle handle, unsigned flags) {
  std::shared_ptr<Stream> stream;
  if (const int code = working_stream_of(stream_handle, stream); code != 0) return code;
  const auto event = event_of(handle);
  if (event == nullptr) return kInvalidHandle;
  if (flags == kEventWaitExternal && stream->capture != nullptr) {
    add_node(*stream, {stream->context, nullptr}).awaited = event;
    return kSuccess;
  }
  if (flags != 0) return kInvalidValue;
  if (event->capture != nullptr && event->capture->ended) return kCapturedEvent;
  if (event->capture != nullptr) return join_capture(*stream, event->capture, event->frontier);
  if (stream->capture != nullptr) return break_capture(*stream->capture, kStreamCaptureIsolation);
  if (event->ticket != nullptr && !event->ticket->done())
    enqueue(*stream, {stream->context, nullptr}, {event->ticket});
  return kSuccess;
}

}  // namespace strait::standin
