// Streams as queues with a worker thread each. Work runs in stream order on the stream's worker,
// which starts with the first work and leaves when it has had nothing to do for a moment. A Ticket
// is one piece of work seen from outside: done or not. Queues are guarded by the machine's lock,
// tickets are lock-free.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "standin/calls.hpp"

namespace strait::standin {

struct Context;
struct Capture;
struct Node;

class Ticket {
 public:
  bool done() const { return at_ns_.load(std::memory_order_acquire) != 0; }
  int64_t at_ns() const { return at_ns_.load(std::memory_order_acquire); }
  void wait() const { at_ns_.wait(0, std::memory_order_acquire); }
  void complete();

 private:
  std::atomic<int64_t> at_ns_ = 0;  // partner: complete() of the worker stores, any thread loads
};
using TicketRef = std::shared_ptr<Ticket>;

struct Work {
  std::shared_ptr<Context> context;
  std::function<int()> run;  // a code other than 0 breaks the context
};

struct Queued {
  Work work;
  std::vector<TicketRef> after;
  TicketRef ticket;
};

struct Stream : std::enable_shared_from_this<Stream> {
  std::shared_ptr<Context> context;
  bool legacy = false;
  bool blocking = true;  // ordered with the legacy stream of its context
  uint64_t id = 0;

  std::deque<Queued> queue;
  std::condition_variable_any filled;
  bool has_worker = false;
  TicketRef last;  // null: nothing yet

  std::shared_ptr<Capture> capture;
  std::vector<Node*> frontier;  // what the next captured work comes after
};

// Puts work into the stream's queue, or into the graph that is being captured. `after`: more to
// wait for than the stream's own order.
TicketRef enqueue(Stream& stream, Work work, std::vector<TicketRef> after = {});

// What a wait for the stream waits for: its own last work, and for the legacy stream that of all
// streams ordered with it.
std::vector<TicketRef> pending(const Stream& stream);

// Runs one piece of work, unless its context is broken, and breaks it when the work says so.
void perform(const Work& work);

// On a thread that runs host callbacks, where the driver may not be called.
bool inside_callback();
void call_back(HostFunction function, void* argument);

}  // namespace strait::standin
