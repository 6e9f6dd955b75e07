// Machine: all state of the stand-in driver in this process, behind one lock that every entry point
// holds while it runs (door.hpp); waits let go of it by Gap. Never destroyed, because workers and
// static objects of the program may outlive main().
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "standin/faults.hpp"
#include "standin/graph.hpp"
#include "standin/kernel_table.hpp"
#include "standin/ranges.hpp"
#include "standin/registry.hpp"
#include "standin/settings.hpp"

namespace strait::standin {

struct Context {
  int device = 0;
  bool primary = false;
  unsigned retained = 0;
  bool gone = false;
  uint64_t id = 0;
  std::atomic<int> failed = 0;  // partner: workers store, entry points and workers load
  std::shared_ptr<Stream> legacy;
  std::map<std::thread::id, std::shared_ptr<Stream>> per_thread;
  std::vector<std::weak_ptr<Stream>> streams;  // all but the legacy one
  std::set<int> peers;                         // devices whose memory it may use
};
using ContextRef = std::shared_ptr<Context>;

struct Event {
  ContextRef context;
  bool timing = true;
  TicketRef ticket;                  // null: never recorded
  std::shared_ptr<Capture> capture;  // recorded in a capture: only that one may use it
  std::vector<Node*> frontier;
};

struct Physical {
  BackingRef backing;
  unsigned references = 1;
};

struct Machine {
  std::mutex mutex;
  Settings settings;
  Faults faults;
  pid_t process = 0;  // 0: cuInit was not called
  uint64_t next_id = 1;
  std::string last_kernel_failure;

  std::vector<uint64_t> used_bytes;  // by device
  std::vector<ContextRef> primaries;
  Registry<Context, ContextHandle> contexts;
  Registry<Stream, StreamHandle> streams;
  Registry<Event, EventHandle> events;
  Registry<Module, ModuleHandle> modules;
  Registry<Graph, GraphHandle> graphs;
  Registry<GraphExec, GraphExecHandle> execs;
  Registry<UserObject, UserObjectHandle> user_objects;
  std::map<AllocationHandle, Physical> physical;
  std::map<DevicePointer, size_t> reserved;  // addresses, with their bytes
  Ranges ranges;
  std::set<std::shared_ptr<Capture>> captures;  // under way
};

Machine& machine();

// Lets go of the machine for the length of a wait.
class Gap {
 public:
  Gap() { machine().mutex.unlock(); }
  ~Gap() { machine().mutex.lock(); }
  Gap(const Gap&) = delete;
  Gap& operator=(const Gap&) = delete;
};

// The context that is current in this thread; an error if there is none or if it is broken.
int current(ContextRef& context);
std::vector<ContextRef>& context_stack();
ContextRef make_context(int device, bool primary);
// Waits for its work, then takes with it what was made in it.
void end_context(const ContextRef& context);
void wait_for_all_work(const ContextRef& context);

// The stream of a handle, the implicit ones included; an error if it is none or its context is
// broken.
int stream_of(StreamHandle handle, std::shared_ptr<Stream>& stream);
// The same for a call that queues work or waits: the legacy stream then disturbs captures.
int working_stream_of(StreamHandle handle, std::shared_ptr<Stream>& stream);
std::shared_ptr<Stream> make_stream(const ContextRef& context, bool blocking);

}  // namespace strait::standin
