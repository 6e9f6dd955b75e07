// The two ends of a link: one direction between two ranks on one lane, a ring of slots, nothing
// blocks. The sender fills a slot in place (a codec encodes straight into it); the receiver reads
// it in place (a reduction reads straight out of it).
//
// Where the receiver reaches the sender's own memory, a message may be lent instead: the slot then
// says where the bytes lie, the receiver reads them there, and its release() gives them back to
// the sender, who must leave them as they are until then. A link that fails gives back nothing;
// after abort() the sender waits while is_read() before it lets the memory go.
//
// Threads: each end belongs to one thread at a time, except that commit() may come from another
// thread than send_slot() (the throttle's), and abort() from any. Messages arrive complete, in
// order, exactly once, or the link fails. When something changes that the owner may wait for (slot
// free, message there, failure), the link rings the doorbell of its LinkSpec.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/status.hpp"

namespace strait {

// What a link can carry, as measured on what it did carry: its share of whatever it shares.
struct LinkRate {
  double bytes_per_second = 0;  // 0: nothing was measured
  bool known = false;           // false: it carries at least so much
};

// The first bytes of a message that is filled on a GPU, where the processor writes nothing. Set
// before commit(), they travel in place of what the slot holds there.
struct SlotHead {
  std::array<std::byte, 16> bytes{};
  bool used = false;
};

// Where the slots of one end lie, for a device that fills or empties them itself: the slot of
// message i of n at first + i % n * stride.
struct SlotPlaces {
  std::shared_ptr<const void> owner;  // keeps the memory, and the heads
  std::span<std::byte> memory;        // whole pages that hold nothing else; empty: no fixed places
  std::byte* first = nullptr;
  size_t stride = 0;
  uint32_t slots = 0;
  uint64_t next = 0;          // the message whose slot is taken, or read, next
  bool on_gpu = false;        // in a GPU's memory: the processor neither reads nor writes any slot
  SlotHead* heads = nullptr;  // of a sender's slots on a GPU: head i % n
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
  // True when the receiver can read these bytes where they lie.
  virtual bool reaches(std::span<const std::byte>) const { return false; }
  // Posts the earliest taken slot as commit() does, with a reference to the bytes, which must be
  // reached. Messages that were posted so far on this link, this one included, are its number.
  virtual uint64_t lend(std::span<const std::byte> bytes, uint32_t tag);
  // True when the receiver has released the message of this number.
  virtual bool returned(uint64_t) { return true; }
  // The receiver reads at this moment what it was lent; once the link has failed it begins no more.
  virtual bool is_read() const { return false; }
  virtual SlotPlaces places() { return {}; }
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

inline uint64_t SendLink::lend(std::span<const std::byte>, uint32_t) {
  STRAIT_CHECK(false, "a link lends only what it reaches");
}

struct Message {
  std::span<const std::byte> bytes;  // empty: no message
  uint32_t tag = 0;
};

class RecvLink {
 public:
  virtual ~RecvLink() = default;

  // The oldest message that has arrived; stays the same and readable until release().
  virtual Message recv_slot() = 0;
  // Before the bytes of the oldest message are touched, again after each wait: a message that was
  // lent is there for sure only from here to unpin() or release(), which must come without a wait.
  // False: the link has failed, and the bytes may be gone. Costs a fence where the message was
  // lent, else nothing.
  virtual bool pin() { return true; }
  virtual void unpin() {}
  // The message that came so many after the oldest; empty if it has not come. For ends that have
  // places(): other ends may tell of the oldest only.
  virtual Message peek(uint32_t ahead) { return ahead == 0 ? recv_slot() : Message{}; }
  virtual SlotPlaces places() { return {}; }
  // Gives the slot of the oldest message back to the sender.
  virtual void release() = 0;
  virtual Status status() const = 0;
  virtual bool peer_gave_up() const { return false; }  // as of a SendLink
  virtual void abort(const Status& why) = 0;
};

}  // namespace strait
