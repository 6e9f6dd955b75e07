// Reads the frames of one connection of a receiving link into its slots, as far as bytes have come
// and slots are free. A frame header from the network is believed only after it was checked. One
// thread at a time; never blocks; one system call per message when messages follow each other.
#pragma once

#include <atomic>
#include <optional>
#include <vector>

#include "transport/tcp/reason_reader.hpp"
#include "transport/tcp/slot_memory.hpp"

namespace strait::tcp {

// The slots that readers fill and the owner of the link empties.
struct Inbox {
  struct Entry {
    // Partner: the owner reads tag and slot after it has seen the size.
    std::atomic<uint32_t> bytes{0};
    uint32_t tag = 0;
  };
  Entry& entry(uint64_t sequence) { return entries[sequence % entries.size()]; }
  // A slot is free for a message when the one before it in that slot was given back; that it is
  // empty is not enough, since the one before may still be on its way over another connection.
  bool has_room(uint64_t sequence) const {
    return sequence < released.load(std::memory_order_acquire) + entries.size();
  }

  // Partner: readers write into a slot after they have seen it given back.
  std::atomic<uint64_t> released{0};
  SlotMemory memory;
  std::vector<Entry> entries;
};

class FrameReader {
 public:
  enum class Outcome {
    kDrained,  // no more bytes have come
    kFull,     // the next message's slot is not free
    kEnded,    // the connection is closed
    kFailed,   // failure() says why
  };

  FrameReader(net::Stream fd, size_t index, size_t stride, Inbox* inbox, int peer)
      : fd_(std::move(fd)), inbox_(inbox), peer_(peer), next_(index), stride_(stride) {}

  int fd() const { return fd_.get(); }
  net::Stream& stream() { return fd_; }
  // Reads on; `delivered` counts the messages that became complete.
  Outcome read(size_t* delivered);
  bool has_room() const { return inbox_->has_room(next_); }
  const Status& failure() const { return failure_; }
  int ended_errno() const { return ended_errno_; }
  bool ended_in_frame() const { return ended_in_frame_; }

 private:
  // Receives into one or two pieces; counts into *count; kDrained when everything that had come is
  // read.
  std::optional<Outcome> receive(std::span<std::byte> first, std::span<std::byte> second,
                                 size_t* count);
  std::optional<Outcome> read_header();
  std::optional<Outcome> read_body(size_t* delivered);
  std::optional<Outcome> read_reason();
  bool check_header();

  net::Stream fd_;
  Inbox* inbox_;
  int peer_;
  uint64_t next_;    // sequence number of the message that comes next here
  uint64_t stride_;  // connections of the link
  FrameHeader header_;
  size_t header_received_ = 0;
  size_t body_received_ = 0;
  bool drained_ = false;
  std::vector<std::byte> reason_;
  Status failure_;
  int ended_errno_ = 0;
  bool ended_in_frame_ = false;
};

}  // namespace strait::tcp
