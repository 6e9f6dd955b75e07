// RingPort: what the two ends of a ring have in common: how a link fails, whoever finds it out, and
// who is woken then. Each end has its own port; it may be shared with whoever watches the other
// rank's life. All methods may be called from any thread. The working path costs two loads of lines
// that nobody writes.
//
// Failures in order of rank: an abort (either side's) stops a link at once; the other side's
// leaving or death stops a sender at once but lets a receiver read what was complete before.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "base/status.hpp"
#include "transport/ring/bell.hpp"
#include "transport/ring/ring_layout.hpp"
#include "transport/transport.hpp"

namespace strait {

enum class RingSide { kProducer, kConsumer };

// One end's connections to the world: the memory and whom to wake.
struct RingParts {
  LinkSpec spec;
  RingView view;
  std::shared_ptr<const void> memory;  // keeps the view alive
  std::shared_ptr<Bell> own;
  std::shared_ptr<Bell> peer;
};

class RingPort {
 public:
  RingPort(RingParts parts, RingSide side);
  // Tells the other end that this one closed, and lets go of the own doorbell. The link's
  // destructor calls it, because whoever watches the other rank may hold the port a moment longer.
  void close();

  const RingView& view() const { return parts_.view; }
  const LinkSpec& spec() const { return parts_.spec; }
  int peer_rank() const;
  Bell& own_bell() { return *parts_.own; }
  Bell& peer_bell() { return *parts_.peer; }

  // True once the link must move nothing more.
  bool stopped() const {
    return failed_.load(std::memory_order_acquire) ||
           parts_.view.header->failure.load(std::memory_order_acquire) != kNoFailure;
  }
  // True once the other end closed, left or died: nothing new will come from it.
  bool peer_gone() const;
  // The first failure. `drained` says that nothing complete is left to be read (always true for a
  // sender).
  Status status(bool drained) const;

  // The other end failed the link.
  bool peer_gave_up() const;
  void abort(const Status& why);
  // The first failure found by this end alone.
  void fail(Status why);
  // The other rank left or died, as its line says.
  void lose_peer(const Status& why);

 private:
  Status peer_failure() const;
  std::string name() const;

  const RingParts parts_;
  const RingSide side_;
  mutable std::mutex mutex_;         // guards the two statuses
  std::atomic<bool> failed_{false};  // partner: fail() and abort() of other threads, with failure_
  std::atomic<bool> lost_{false};    // partner: lose_peer() on the reactor's thread, with loss_
  Status failure_;
  Status loss_;
};

}  // namespace strait
