// LinkTurner: turns one end of a link that kernels cannot turn themselves, for a kernel that has
// the other end of a MarkedRing. Two kinds:
//
//   direct   the ring's slots are the link's own, pinned or in the GPU's memory: the kernel fills
//            and empties them in place, and the processor touches no value; for links whose slots
//            have fixed places
//   staged   the ring has slots of its own, and messages are copied
//
// Kernels make and read the chunks of floats. Integers that travel coded (EdgeKind::coded) lie
// kChunkLead bytes into a slot of the ring, so that a chunk's header has its place before them, and
// are sent raw, since the other end may read them where they lie. What is received by a call of its
// own is a chunk to the kernel, whatever its type: it need not be the sender's. One thread, the
// proxy's.
#pragma once

#include <memory>

#include "exec/coding.hpp"
#include "exec/cuda/marked_ring.hpp"

namespace strait {

struct EdgeKind {
  bool coded = false;     // the other end is in another domain
  bool messages = false;  // of sends and receives, not of collectives

  bool kernel_encodes(DataType type) const { return coded && is_float(type); }
  bool proxy_encodes(DataType type) const { return coded && !is_float(type); }
  bool proxy_decodes(DataType type) const { return coded && !messages && !is_float(type); }
};

static_assert(kChunkLead == codec::kChunkOverhead);

class LinkTurner {
 public:
  struct Turn {
    bool moved = false;      // something
    uint64_t completed = 0;  // messages that are done with on this side
  };

  virtual ~LinkTurner() = default;
  // `due`: messages that calls have begun to move and that are not completed, 1 or more. The first
  // failure of the link is the status.
  virtual Result<Turn> turn(uint64_t due) = 0;
};

// Who codes, and how; for counting what is sent.
struct TurnerTerms {
  EdgeKind edge;
  Coding coding;
  TrafficCounters* traffic = nullptr;

  // Of a message as the kernel made it: if it is a chunk, counts it, and chooses the mode of the
  // next where that is left to us.
  void count(SendPort& port, const MarkedRing& ring, const MarkedRing::Posted& posted) const;
};

// The message so many after the link's oldest; empty if it has not come.
Result<Message> look_for(RecvLink& link, uint32_t ahead);

// The link's slots as kernels name them: pinned, or in the GPU's memory.
struct PinnedPlaces {
  SlotPlaces places;
  cuda::RegisteredMemory registered;  // goes before the places

  unsigned char* first() const {
    if (places.on_gpu) return reinterpret_cast<unsigned char*>(places.first);
    return reinterpret_cast<unsigned char*>(registered.pointer()) +
           (places.first - places.memory.data());
  }
};

std::unique_ptr<LinkTurner> turn_direct(MarkedRing ring, PinnedPlaces places, SendPort& port,
                                        const TurnerTerms& terms);
std::unique_ptr<LinkTurner> turn_direct(MarkedRing ring, PinnedPlaces places, RecvLink& link,
                                        const TurnerTerms& terms);
std::unique_ptr<LinkTurner> turn_staged(MarkedRing ring, SendPort& port, const TurnerTerms& terms);
std::unique_ptr<LinkTurner> turn_staged(MarkedRing ring, RecvLink& link, const TurnerTerms& terms);

}  // namespace strait
