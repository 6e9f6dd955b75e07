// Reactor: the one background thread of a process. It waits for file descriptors and moments and
// calls back. Transports and the bootstrap hang their sockets here, so that links never block a
// rank's own thread. Started by the first get(), ended when the last shared_ptr goes. All methods
// may be called from any thread, also from call-backs. Call-backs run on the reactor's thread, one
// at a time, and must not block. After remove() returns, the call-back is not running and never
// runs again (from within a call-back: it does not run again).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/status.hpp"

namespace strait {

class Reactor {
 public:
  using Callback = std::function<void(uint32_t epoll_events)>;

  // The process's reactor, started if there is none.
  static Result<std::shared_ptr<Reactor>> get();

  virtual ~Reactor() = default;
  // Watches fd (level-triggered) for EPOLLIN/EPOLLOUT/...; one watcher per fd. The fd stays the
  // caller's.
  virtual Status add(int fd, uint32_t epoll_events, Callback callback) = 0;
  virtual void modify(int fd, uint32_t epoll_events) = 0;
  virtual void remove(int fd) = 0;
  // Calls once at the given time of the monotonic clock (in the past: as soon as possible). Returns
  // an id for cancel().
  virtual uint64_t schedule(int64_t at_ns, std::function<void()> callback) = 0;
  // After cancel() returns, the call-back is not running and never runs.
  virtual void cancel(uint64_t id) = 0;
};

}  // namespace strait
