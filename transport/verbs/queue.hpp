// Queue: one end of a reliable connection: a queue pair and its completion queue. Nothing blocks.
// Moves messages of two kinds, both announced by a number: bytes that the sender writes into memory
// of the receiver, and words without bytes, for the other direction. One owner; calls from one
// thread at a time.
#pragma once

#include <span>

#include "transport/verbs/address.hpp"
#include "transport/verbs/device.hpp"

namespace strait::verbs {

// How packets are sent; the same for every queue of a rank.
struct PacketTerms {
  uint8_t timeout = 20;  // 4.096 us * 2^timeout until a packet is sent again
  uint8_t retries = 7;
  uint8_t service_level = 0;
  uint8_t traffic_class = 0;
  uint16_t key_index = 0;  // of the partition
};

// What the one end must know of the other.
struct Side {
  GidBytes gid{};
  uint32_t number = 0;    // of the queue pair
  uint32_t sequence = 0;  // of its first packet
  uint16_t lid = 0;
  uint8_t mtu = 1;

  bool operator==(const Side&) const = default;
};

// What a completion is of.
enum class Work : uint64_t { kReceive = 1, kWrite = 2, kWord = 3, kRead = 4 };
inline constexpr size_t kPiecesMax = 2;

class Queue {
 public:
  struct Terms {
    std::shared_ptr<Device> device;
    PortAddress port;
    int port_number = 1;
    Gid gid;
    PacketTerms packets;
    uint32_t sends = 1;     // at once
    uint32_t receives = 1;  // that may come before they are polled
    int access = 0;         // IBV_ACCESS_REMOTE_*: of the other end, to memory here
  };
  // Receives are posted.
  static Result<Queue> create(const Terms& terms, CompletionListener* listener);

  const Side& side() const { return side_; }
  // Both ends must, before either sends. May take as long as finding the other end's hardware
  // address takes.
  Status start(const Side& remote);

  struct Place {
    uint64_t address = 0;
    uint32_t key = 0;
  };
  struct Piece {
    std::span<const std::byte> bytes;
    uint32_t key = 0;  // local
  };
  // 0, or an errno. The pieces arrive as one.
  int write(std::span<const Piece> pieces, const Place& to, uint32_t tag);
  // From the other end, into memory here.
  int read(const Piece& into, const Place& from);
  int send_word(uint32_t word, bool signaled);
  int receive_again();

  // How many have come; negative: the queue is broken.
  int poll(std::span<ibv_wc> completions) {
    return ibv_poll_cq(completions_.get(), static_cast<int>(completions.size()),
                       completions.data());
  }
  // The next completion is told to the listener.
  bool arm() { return ibv_req_notify_cq(completions_.get(), 0) == 0; }

 private:
  Queue() = default;
  Status create_objects(CompletionListener* listener);
  Status initialize();
  Status make_ready_to_receive(const Side& remote);
  Status make_ready_to_send();
  Status modify(ibv_qp_attr& attributes, int mask, const char* what);

  Terms terms_;
  Side side_;
  Owned<ibv_cq> completions_;
  Owned<ibv_qp> pair_;  // goes first
};

}  // namespace strait::verbs
