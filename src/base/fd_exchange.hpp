// FdExchange: how processes of one host hand each other file descriptors (memory, mostly) by name,
// and notice each other's death. Each process has one server on an abstract Unix socket with a
// random name, run by the reactor; it is made by the first get() and ends with the last owner. A
// client proves with a keyed hash over fresh nonces that it knows the communicator's secret, and
// the server proves it back; whoever cannot is dropped. Abstract sockets belong to a network
// namespace, so "same host" is found out by trying. All functions may be called from any thread,
// none on the hot path: a fetch costs two round trips through the other process's reactor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "base/reactor.hpp"
#include "base/status.hpp"

namespace strait {

enum class FdUses { kMany, kOnce };  // kOnce: the name is gone after the first fetch

// One rank's shelf in the exchange of its process. Destroying it withdraws its names; with the last
// shelf of the same communicator and rank, everybody who fetched from it is told that the rank
// left.
class FdShelf {
 public:
  virtual ~FdShelf() = default;
  // Names are up to 127 bytes. Whoever already waits for the name gets it at once.
  virtual Status publish(const std::string& name, UniqueFd fd, FdUses uses) = 0;
  virtual void withdraw(const std::string& name) = 0;
  // Names that begin with `prefix` are answered at once by what `source` makes of the rest, or
  // refused. It is called on the reactor's thread, and may be so until the rank's last shelf goes.
  using Source = std::function<Result<UniqueFd>(const std::string& rest)>;
  virtual void supply(const std::string& prefix, Source source) = 0;
};

class FdExchange {
 public:
  static Result<std::shared_ptr<FdExchange>> get();

  virtual ~FdExchange() = default;
  // What another process of this host passes to fetch_fd().
  virtual const std::string& address() const = 0;
  // The shelf keeps the exchange alive. The secret has 32 bytes; shelves of one communicator and
  // rank share it.
  virtual Result<std::unique_ptr<FdShelf>> open_shelf(uint64_t comm_key, int rank,
                                                      std::span<const std::byte> secret) = 0;
};

struct FetchedFd {
  UniqueFd fd;
  UniqueFd line;    // stays open as long as the other rank is there; see PeerLine
  int process = 0;  // its process id; 0 when it cannot be seen from here
};

// Gets what `rank` of the communicator publishes under `name`; waits until it does, up to the
// deadline (Code::kTimeout), or as soon as `stopped` is asked and has a reason.
Result<FetchedFd> fetch_fd(const std::string& address, uint64_t comm_key, int rank,
                           const std::string& name, std::span<const std::byte> secret,
                           Deadline deadline, const std::function<Status()>& stopped = {});

// Watches the line of a fetch. When the other process dies or its rank leaves, the call-back runs
// once, on the reactor's thread, with a sentence that says which. After the destructor it does not
// run.
class PeerLine {
 public:
  using Callback = std::function<void(const Status& why)>;

  static Result<std::unique_ptr<PeerLine>> watch(UniqueFd line, int rank, int process,
                                                 Callback callback);
  ~PeerLine();

 private:
  PeerLine() = default;
  void ended();
  Status death() const;

  std::shared_ptr<Reactor> reactor_;
  UniqueFd line_;
  UniqueFd
      process_fd_;  // fires also when children of the dead process still hold its end of the line
  int rank_ = 0;
  int process_ = 0;
  Callback callback_;
};

}  // namespace strait
