// How a ring of slots lies in memory that both of its ends see, threads or processes: constants,
// the producer's line, the consumer's line, the failure, one header per slot, the slots. Written
// once by whoever makes it, checked by whoever maps it. What the other side writes is never
// trusted. Plain functions over memory; the caller owns it.
//
//   | constants | committed | released | waits, waits | ended, | reads, failure text |
//   | {bytes, tag, lent} x slots | slot 0 | slot 1 | ...
//
// Indices run freely in 64 bits and never wrap; slot i of n is index mod n.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "transport/transport.hpp"

namespace strait {

inline constexpr uint64_t kRingMagic = 0x53545241'49545247;
inline constexpr uint32_t kRingVersion = 2;
inline constexpr size_t kCacheLine = 64;

struct RingHeader {
  uint64_t magic;
  uint32_t version;
  int32_t source;
  int32_t destination;
  int32_t lane;
  uint64_t slots;
  uint64_t slot_bytes;

  // Messages the producer has posted; partner: the consumer's acquire load before it reads a slot.
  alignas(kCacheLine) std::atomic<uint64_t> committed;
  // Messages the consumer has given back; partner: the producer's acquire load before it fills a
  // slot.
  alignas(kCacheLine) std::atomic<uint64_t> released;
  // Set by a side that found nothing to do and may sleep; partner: the other side, which then rings
  // and clears it.
  alignas(kCacheLine) std::atomic<uint32_t> producer_waits;
  alignas(kCacheLine) std::atomic<uint32_t> consumer_waits;

  // Read by both sides with every slot, written once: a line of its own.
  alignas(kCacheLine)
      std::atomic<uint32_t> failure;    // RingFailure; partner: status() of the other side
  std::atomic<uint32_t> producer_gone;  // closed in good order; partner: the consumer
  std::atomic<uint32_t> consumer_gone;  // closed in good order; partner: the producer
  std::atomic<uint32_t> consumer_came;  // accepted the link; partner: flushed() of the producer

  // The consumer reads what it was lent; partner: is_read() of the producer, once the link failed.
  alignas(kCacheLine) std::atomic<uint32_t> reading;
  std::array<char, 496> failure_text;
};

enum RingFailure : uint32_t { kNoFailure = 0, kWritingFailure = 1, kFailed = 2 };

struct SlotHeader {
  uint64_t bytes;  // in the slot
  uint32_t tag;
  uint32_t lent;  // 1: in the slot lies a Reference
};

// Where everything of one ring lies.
struct RingView {
  RingHeader* header = nullptr;
  SlotHeader* slot_headers = nullptr;
  std::byte* first_slot = nullptr;
  uint64_t slots = 0;
  size_t slot_bytes = 0;
  size_t stride = 0;

  std::byte* slot(uint64_t index) const { return first_slot + (index % slots) * stride; }
  SlotHeader& slot_header(uint64_t index) const { return slot_headers[index % slots]; }
};

// Bytes of memory for the ring of a link; an error if no memory is that large.
Result<size_t> ring_bytes(const LinkSpec& spec);
// The places in memory of ring_bytes(spec) bytes, aligned to a cache line.
RingView view_ring(std::byte* memory, const LinkSpec& spec);
// Writes an empty ring into zeroed memory.
RingView make_ring(std::byte* memory, const LinkSpec& spec);
// Ok if the memory holds the ring of exactly this link, else what differs.
Status check_ring(const std::byte* memory, const LinkSpec& spec);

}  // namespace strait
