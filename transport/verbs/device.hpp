// Device: an RDMA device as this process has opened it: its context, its protection domain, and one
// channel on which all completions that somebody sleeps for arrive. Shared by the communicators of
// the process; a forked child opens its own. Any thread; the channel and the device's own events
// are read on the reactor's thread.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "base/reactor.hpp"
#include "transport/verbs/calls.hpp"

namespace strait::verbs {

// Who hears of completions. Called on the reactor's thread; whoever destroys the queue that names
// it waits until the call is over.
class CompletionListener {
 public:
  virtual void on_completions() = 0;

 protected:
  ~CompletionListener() = default;
};

class Device {
 public:
  static Result<std::shared_ptr<Device>> open(const std::string& name);
  ~Device();
  Device(const Device&) = delete;

  const std::string& name() const { return name_; }
  const Calls& calls() const { return calls_; }
  ibv_context* context() const { return context_.get(); }
  ibv_pd* domain() const { return domain_.get(); }
  ibv_comp_channel* channel() const { return channel_.get(); }
  // The active one, as verbs count it.
  Result<uint8_t> mtu(int port) const;
  // What is wrong with the device or with that port ("port 1 is down"); empty: nothing. Asks it.
  std::string complaint(int port) const;

 private:
  Device(const Calls& calls, std::string name) : calls_(calls), name_(std::move(name)) {}
  Status start();
  Result<ibv_port_attr> ask(int port) const;
  void on_channel();
  void on_event();

  const Calls& calls_;
  const std::string name_;
  std::shared_ptr<Reactor> reactor_;
  Owned<ibv_context> context_;
  Owned<ibv_pd> domain_;
  Owned<ibv_comp_channel> channel_;
  std::atomic<bool> dead_{false};  // partner: complaint()
};

// "registering 528384 bytes: Cannot allocate memory; locked memory is limited to 64 KiB (ulimit -l)
// ..." of the errno that a call of verbs left.
Status verbs_error(const std::string& what, int number);

}  // namespace strait::verbs
