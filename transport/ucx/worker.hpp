// Worker: a rank's place in UCX: one context, one worker, and an endpoint for each peer. Everything
// in it happens below one mutex, which whoever calls holds. Progress is made by whoever looks at a
// link; where nothing is found the worker is armed, and the reactor goes on when something comes.
// The reactor also looks a moment after it was woken, so that what peers wait for is done though
// the owner computes. Owned by the transport and by its links; the last one closes it, for which
// there is a deadline.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/reactor.hpp"
#include "transport/ucx/flight.hpp"

namespace strait::ucx {

class EndpointUser {
 public:
  virtual void on_endpoint_failed(const Status& why) = 0;

 protected:
  ~EndpointUser() = default;
};

struct Endpoint {
  const Calls* calls = nullptr;
  int peer = 0;
  ucp_ep_h handle = nullptr;
  Status failure;
  std::vector<EndpointUser*> users;
};

class Worker {
 public:
  static Result<std::shared_ptr<Worker>> open(const Calls& calls, std::shared_ptr<Reactor> reactor);
  ~Worker();

  std::mutex& mutex() { return mutex_; }
  const Calls& calls() const { return calls_; }
  const std::vector<std::byte>& address() const { return address_; }

  // Mutex held, all of them.
  uint32_t new_id() { return ++last_id_; }
  // Made when it is first asked for. The address must come from a rank that can be trusted.
  Result<Endpoint*> endpoint(int peer, const std::vector<std::byte>& address);
  // An acknowledged message has landed when the peer has found the place for it.
  enum class Landing { kLeft, kAcknowledged };
  void send(Endpoint& to, Operation& operation, std::span<const std::byte> bytes, uint64_t tag,
            Landing landing);
  void receive(Operation& operation, std::span<std::byte> place, uint64_t tag);
  void cancel(std::span<Operation> operations);
  void progress();
  // An end has heard of what landed, and its owner will look.
  void heard() { heard_ = true; }
  // From now on somebody looks when something comes.
  void arm();
  // Looks; true when the condition holds, else the worker is armed.
  template <class Condition>
  bool look(Condition holds) {
    if (holds()) return true;
    progress();
    if (holds()) return true;
    arm();
    return holds();
  }

 private:
  Worker(const Calls& calls, std::shared_ptr<Reactor> reactor);
  Status create();
  void on_event();
  void look_later();
  void close_endpoints(unsigned flags, int64_t patience_ms);
  void forget_strays();

  const Calls calls_;
  const std::shared_ptr<Reactor> reactor_;
  const pid_t process_;
  std::mutex mutex_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  std::vector<std::byte> address_;
  int event_fd_ = -1;
  bool watched_ = false;
  bool armed_ = false;
  bool heard_ = false;  // since an event woke the reactor
  bool closing_ = false;
  uint64_t timer_ = 0;  // 0: none
  uint32_t last_id_ = 0;
  std::map<std::vector<std::byte>, std::unique_ptr<Endpoint>> endpoints_;  // by address
};

}  // namespace strait::ucx
