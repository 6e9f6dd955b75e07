#include "standin/machine.hpp"

#include "standin/capture.hpp"

namespace strait::standin {

Machine& machine() {
  static auto& only = []() -> Machine& {
    auto& made = *new Machine;
    made.settings = Settings::from_environment();
    made.faults.set(made.settings.faults);
    return made;
  }();
  return only;
}

std::vector<ContextRef>& context_stack() {
  thread_local std::vector<ContextRef> stack;
  return stack;
}

int current(ContextRef& context) {
  const auto& stack = context_stack();
  if (stack.empty() || stack.back() == nullptr) return kInvalidContext;
  context = stack.back();
  return context->gone ? kContextIsDestroyed : context->failed.load();
}

ContextRef make_context(int device, bool primary) {
  auto context = std::make_shared<Context>();
  context->device = device;
  context->primary = primary;
  context->id = machine().next_id++;
  context->legacy = make_stream(context, true);
  context->legacy->legacy = true;
  context->streams.clear();
  machine().contexts.add(context);
  return context;
}

void wait_for_all_work(const ContextRef& context) {
  std::vector<TicketRef> tickets;
  const auto add = [&](const std::shared_ptr<Stream>& stream) {
    if (stream != nullptr && stream->last != nullptr) tickets.push_back(stream->last);
  };
  add(context->legacy);
  for (const auto& stream : context->streams) add(stream.lock());
  const Gap gap;
  for (const TicketRef& ticket : tickets) ticket->wait();
}

void end_context(const ContextRef& context) {
  wait_for_all_work(context);
  context->gone = true;
  Machine& all = machine();
  all.streams.remove_all_of(context);
  all.events.remove_all_of(context);
  all.modules.remove_all_of(context);
  all.ranges.remove_all_of(context.get());
  all.contexts.remove(reinterpret_cast<ContextHandle>(context.get()));
  context->per_thread.clear();
  context->streams.clear();
  context->legacy.reset();  // they hold each other
}

std::shared_ptr<Stream> make_stream(const ContextRef& context, bool blocking) {
  auto stream = std::make_shared<Stream>();
  stream->context = context;
  stream->blocking = blocking;
  stream->id = machine().next_id++;
  std::erase_if(context->streams, [](const auto& weak) { return weak.expired(); });
  context->streams.push_back(stream);
  return stream;
}

int stream_of(StreamHandle handle, std::shared_ptr<Stream>& stream) {
  const auto number = reinterpret_cast<uintptr_t>(handle);
  if (number > 2) {
    stream = machine().streams.find(handle);
    return stream == nullptr ? kInvalidHandle : stream->context->failed.load();
  }
  ContextRef context;
  if (const int code = current(context); code != 0) return code;
  stream = context->legacy;
  if (number == 2) {
    auto& mine = context->per_thread[std::this_thread::get_id()];
    if (mine == nullptr) mine = make_stream(context, true);
    stream = mine;
  }
  return 0;
}

int working_stream_of(StreamHandle handle, std::shared_ptr<Stream>& stream) {
  if (const int code = stream_of(handle, stream); code != 0) return code;
  return stream->legacy ? check_legacy_use(*stream->context) : 0;
}

}  // namespace strait::standin
