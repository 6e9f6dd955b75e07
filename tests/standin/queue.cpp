#include "standin/queue.hpp"

#include <chrono>
#include <thread>

#include "base/clock.hpp"
#include "standin/capture.hpp"
#include "standin/guard.hpp"
#include "standin/machine.hpp"

namespace strait::standin {
namespace {

constexpr std::chrono::milliseconds kLinger{20};
thread_local bool in_callback = false;

void carry(const Queued& queued) {
  for (const TicketRef& ticket : queued.after) ticket->wait();
  perform(queued.work);
  queued.ticket->complete();
}

void run_worker(const std::shared_ptr<Stream>& stream) {
  std::unique_lock lock(machine().mutex);
  for (;;) {
    if (!stream->filled.wait_for(lock, kLinger, [&] { return !stream->queue.empty(); })) break;
    {
      const Queued queued = std::move(stream->queue.front());
      stream->queue.pop_front();
      lock.unlock();
      carry(queued);
    }  // what the work owned goes while nothing is locked
    lock.lock();
  }
  stream->has_worker = false;
}

void wake_worker(Stream& stream) {
  stream.filled.notify_one();
  if (stream.has_worker) return;
  stream.has_worker = true;
  // Detached: a process may end while kernels run, and the machine is never destroyed.
  std::thread(run_worker, stream.shared_from_this()).detach();
}

void add_if_pending(std::vector<TicketRef>& tickets, const TicketRef& ticket) {
  if (ticket != nullptr && !ticket->done()) tickets.push_back(ticket);
}

// The rule of the legacy stream: after all before it, before all after it.
void add_implicit_order(const Stream& stream, std::vector<TicketRef>& after) {
  if (stream.legacy) {
    for (const auto& weak : stream.context->streams)
      if (const auto other = weak.lock(); other != nullptr && other->blocking)
        add_if_pending(after, other->last);
  } else if (stream.blocking) {
    add_if_pending(after, stream.context->legacy->last);
  }
}

}  // namespace

void Ticket::complete() {
  at_ns_.store(now_ns(), std::memory_order_release);
  at_ns_.notify_all();
}

TicketRef enqueue(Stream& stream, Work work, std::vector<TicketRef> after) {
  if (stream.capture != nullptr) {
    add_node(stream, std::move(work));
    return nullptr;
  }
  add_implicit_order(stream, after);
  stream.last = std::make_shared<Ticket>();
  stream.queue.push_back({std::move(work), std::move(after), stream.last});
  wake_worker(stream);
  return stream.last;
}

std::vector<TicketRef> pending(const Stream& stream) {
  std::vector<TicketRef> tickets;
  add_if_pending(tickets, stream.last);
  if (stream.legacy) add_implicit_order(stream, tickets);
  return tickets;
}

void perform(const Work& work) {
  if (work.context->failed != 0 || work.run == nullptr) return;
  const Guard::Running running;
  const int code = work.run();
  int none = 0;
  if (code != 0) work.context->failed.compare_exchange_strong(none, code);
}

bool inside_callback() {
  return in_callback;
}

void call_back(HostFunction function, void* argument) {
  in_callback = true;
  function(argument);
  in_callback = false;
}

}  // namespace strait::standin
