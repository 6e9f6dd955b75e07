// HeldSender: a sending end whose messages depart later than they are committed, in order: slots
// pass through, a commit waits in a small queue until its moment, and then the reactor passes it
// on, together with all that are due by then. Used by throttle (moments from a rate) and fault
// (random delays). Threads as in link.hpp; a commit costs a lock and, for the first in the queue, a
// timer.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/reactor.hpp"
#include "transport/transport.hpp"

namespace strait {

class HeldSender final : public SendLink {
 public:
  // When (monotonic clock) the next message, of so many bytes, may go. Called in the order of the
  // commits.
  using Departure = std::function<int64_t(size_t bytes)>;

  HeldSender(std::unique_ptr<SendLink> inner, const LinkSpec& spec,
             std::shared_ptr<Reactor> reactor, Departure departure);
  // Passes on at once what is still held: a message that was committed is never lost.
  ~HeldSender() override;

  std::span<std::byte> send_slot() override;
  void commit(size_t bytes, uint32_t tag) override;
  bool reaches(std::span<const std::byte> bytes) const override { return inner_->reaches(bytes); }
  uint64_t lend(std::span<const std::byte> bytes, uint32_t tag) override;
  bool returned(uint64_t number) override { return inner_->returned(number); }
  bool is_read() const override { return inner_->is_read(); }
  bool flushed() const override;
  SlotPlaces places() override { return inner_->places(); }
  // What the departures let through while messages had to wait for theirs.
  LinkRate rate() override;
  Status status() const override { return inner_->status(); }
  bool peer_gave_up() const override { return inner_->peer_gave_up(); }
  void abort(const Status& why) override;

 private:
  struct Held {
    int64_t departs_ns;
    size_t bytes;
    uint32_t tag;
    const std::byte* lent;  // null: the bytes are in the slot
  };

  void post(const Held& message);
  void pass_on(const Held& message);
  void note_rate(size_t bytes, int64_t took_ns);
  void arm();
  void pass_on(int64_t until_ns);

  const std::unique_ptr<SendLink> inner_;
  const size_t slot_bytes_;
  const std::shared_ptr<Reactor> reactor_;
  const Departure departure_;
  mutable std::mutex mutex_;  // guards all below, and commits to inner_
  std::vector<Held> queue_;   // a ring, one place per slot
  size_t first_ = 0;
  size_t held_ = 0;
  size_t taken_ = 0;  // slots taken and not yet committed
  uint64_t posted_ = 0;
  int64_t last_departs_ns_ = 0;
  double ns_per_byte_ = 0;  // while messages waited; 0: none did
  uint64_t timer_ = 0;      // 0: none is set
  bool closing_ = false;
};

}  // namespace strait
