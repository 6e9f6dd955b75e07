// The two ends of a link: one direction between two ranks on one lane, a ring of slots, nothing
// blocks. The sender fills a slot in place (a codec encodes straight into it); the receiver reads
// it in place (a reduction reads straight out of it).
//
// Threads: each end belongs to one thread at a time, except that commit() may come from another
// thread than send_slot() (the throttle's), and abort() from any. Messages arrive complete, in
// order, exactly once, or the link fails. When something changes that the owner may wait for (slot
// free, message there, failure), the link rings the doorbell of its LinkSpec.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.hpp"

namespace strait {

// What a link can carry, as measured on what it did carry: its share of whatever it shares.
struct LinkRate {
  double bytes_per_second = 0;  // 0: nothing was measured
  bool known = false;           // false: it carries at least so much
};

class SendLink {
 public:
  virtual ~SendLink() = default;

  // Takes the next free slot; empty when every slot is in flight or the link failed. Several slots
  // may be taken before they are committed.
  virtual std::span<std::byte> send_slot() = 0;
  // Posts the earliest taken slot, with its first `bytes` bytes (1 or more). The tag arrives with
  // the message.
  virtual void commit(size_t bytes, uint32_t tag) = 0;
  // True when everything committed has left this process's hands (the far end may not have read it
  // yet).
  virtual bool flushed() const = 0;
  // Since it was last asked. For choices, not for every message: may cost a system call.
  virtual LinkRate rate() { return {}; }
  // Ok while the link works; else the first failure, in a sentence that names the peer.
  virtual Status status() const = 0;
  // True when the peer failed the link, and did not just leave; false where a link cannot tell. Any
  // thread.
  virtual bool peer_gave_up() const { return false; }
  // Fails the link on both ends; the peer's status carries the message of `why`. Idempotent, the
  // first wins.
  virtual void abort(const Status& why) = 0;
};

struct Message {
  std::span<const std::byte> bytes;  // empty: no message
  uint32_t tag = 0;
};

class RecvLink {
 public:
  virtual ~RecvLink() = default;

  // The oldest message that has arrived; stays the same and readable until release().
  virtual Message recv_slot() = 0;
  // Gives the slot of the oldest message back to the sender.
  virtual void release() = 0;
  virtual Status status() const = 0;
  virtual bool peer_gave_up() const { return false; }  // as of a SendLink
  virtual void abort(const Status& why) = 0;
};

}  // namespace strait
