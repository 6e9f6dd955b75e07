// PeerRings: links between GPUs of one domain, turned by kernels on both ends. The ring lies in the
// receiver's GPU memory; the sender's kernels write into it over NVLink (or PCIe), and nobody else
// takes part. The receiver makes it and publishes it; the sender fetches it (peer_memory.hpp), and
// both have a port. Owned by the engine; one thread; never on the hot
// path.
//
//   | slots | flagged slots | marks | released |      in steps of 2 MiB, as devices map memory
#pragma once

#include <functional>
#include <list>
#include <string>
#include <vector>

#include "exec/cuda/device_call.hpp"
#include "exec/cuda/peer_memory.hpp"

namespace strait {

class PeerRings {
 public:
  struct Terms {
    PeerShelves shelves;
    PeerWays own = 0;           // in which this rank shares
    std::vector<PeerWay> ways;  // by rank; kNone: not by these rings
  };
  struct Shape {
    uint32_t slots;
    size_t slot_bytes;
  };

  PeerRings(Terms terms, const cuda::Driver& driver, cuda::ContextHandle context, int device,
            const Shape& shape)
      : terms_(std::move(terms)), place_{&driver, context, device, terms_.own}, shape_(shape) {}

  bool reaches(int peer) const { return way_to(peer) != PeerWay::kNone; }
  // Returns at once; the sender may fetch the ring from then on.
  Result<DevicePort> open_receiver(int source, int lane);
  // Waits until the receiver has made it, or `stopped` has a reason not to.
  Result<DevicePort> open_sender(int destination, int lane, Deadline deadline,
                                 const std::function<Status()>& stopped);

  // ---- Before the first ring: whether memory of the peer's GPU can be used here, by trying.
  // What a peer tries. Keep it until all have.
  static Result<PeerMemory> publish_probe(const PeerPlace& place, const PeerShelves& shelves);
  // The first way that works of those the peer has opened, or why none does.
  static Result<PeerWay> try_peer(const PeerPlace& place, const PeerShelves& shelves, int peer,
                                  PeerWays opened, Deadline deadline);

 private:
  PeerWay way_to(int peer) const {
    const auto at = static_cast<size_t>(peer);
    return at < terms_.ways.size() ? terms_.ways[at] : PeerWay::kNone;
  }
  DevicePort port(const PeerMemory& ring, int peer) const;

  const Terms terms_;
  const PeerPlace place_;
  const Shape shape_;
  std::list<PeerMemory> rings_;
};

}  // namespace strait
