// Bootstrap: how the ranks of a communicator meet, before they have links. One rank's process made
// a UniqueId and hosts its root; every rank joins through it, learns what all others say of
// themselves, and may exchange small messages in further rounds. If anything fails on one rank,
// every rank's call returns promptly with one sentence that says whose failure it is.
//
// A Bootstrap belongs to one rank and one thread at a time; all calls block up to their deadline. A
// round costs one message to the root and one back. Today a star through the root; callers see only
// rounds, so a tree may take its place.
//
// Order of events when a communicator is made: join() with what is known locally; make the
// transports with comm_key() and transport_secret(), which exist only now; all_gather() their
// addresses; open links; barrier().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "base/clock.hpp"
#include "base/config.hpp"
#include "base/status.hpp"
#include "comm/agreement.hpp"
#include "comm/unique_id.hpp"
#include "transport/net/listener.hpp"

namespace strait {

// A new id, whose root runs in this process's background from now on, until all ranks have joined
// and left. With the setting COMM_ID it carries that meeting point, and rank 0 starts the root when
// it joins.
Result<UniqueId> make_unique_id(const Config& config);

// Where and as whom a rank meets the others.
struct Meeting {
  UniqueId id;
  int rank = 0;
  int rank_count = 0;                        // of the communicator
  std::vector<int> members = {};             // the ranks that meet there; empty: all
  std::shared_ptr<net::Listener> host = {};  // rank 0's, where it hosts the root of a late id
  std::stop_token stop = {};                 // ends every wait
};

class Bootstrap {
 public:
  // Returns when all ranks are there and agree. Failures: a second rank with the same number,
  // another rank count, version or setting, a rank out of range, ranks that did not arrive before
  // the deadline, ranks or a root that ended.
  static Result<std::unique_ptr<Bootstrap>> join(const Meeting& meeting, const Config& config,
                                                 const Hello& hello, Deadline deadline);
  virtual ~Bootstrap() = default;  // leaves

  virtual int rank() const = 0;
  virtual int rank_count() const = 0;
  // What every member said of itself, by rank.
  virtual const std::vector<Hello>& hellos() const = 0;
  // Tells this communicator from all others, equal on its ranks.
  virtual uint64_t comm_key() const = 0;
  // 32 bytes known to the ranks of this communicator alone.
  virtual const Secret& transport_secret() const = 0;

  // Everyone's bytes, by rank; lengths may differ. At most 16 MiB each.
  virtual Result<std::vector<std::vector<std::byte>>> all_gather(std::span<const std::byte> bytes,
                                                                 Deadline deadline) = 0;
  virtual Status barrier(Deadline deadline) = 0;
  // Fails the rounds of all other ranks with this rank's reason.
  virtual void fail(const Status& why) = 0;
};

// For a rank that failed before it could join: lets the others fail now, with its reason, instead
// of at their deadline.
void report_failure(const Meeting& meeting, const Status& why);

// The addresses of this process's listener, as the settings choose them.
Result<std::vector<net::Address>> own_addresses(const net::Listener& listener,
                                                const Config& config);

}  // namespace strait
