// PeerRings: links between GPUs of one domain, turned by kernels on both ends. The ring lies in the
// receiver's GPU memory; the sender's kernels write into it over NVLink (or PCIe), and nobody else
// takes part. The receiver makes it and publishes it; the sender fetches it (peer_memory.hpp), and
// both have a port. Owned by the engine; one thread; never on the hot
// path.
//
//   | slots | flagged slots | marks | released |      in steps of 2 MiB, as devices map memory
#pragma once

#include <atomic>
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

  PeerWay way_to(int peer) const {
    const auto at = static_cast<size_t>(peer);
    return at < terms_.ways.size() ? terms_.ways[at] : PeerWay::kNone;
  }
  bool reaches(int peer) const { return way_to(peer) != PeerWay::kNone; }
  // Returns at once; the sender may fetch the ring from then on.
  Result<DevicePort> open_receiver(int source, int lane);
  // Waits until the receiver has made it, or `stopped` has a reason not to.
  Result<DevicePort> open_sender(int destination, int lane, Deadline deadline,
                                 const std::function<Status()>& stopped);

  // Unmaps all of them; rings that are opened later have names of their own. Every rank does so
  // between the same two rings.
  void close();
  // Of the rings that peers write into.
  size_t memory_bytes() const { return received_bytes_.load(); }

  // ---- Beside rings: other memory that peers of this GPU write into.
  // In steps of 2 MiB, all 0; every peer may fetch it.
  Result<PeerMemory> publish(const std::string& name, size_t bytes) const;
  // Memory that somebody else made: how it can be shared, if at all, and then doing so.
  PeerWays ways_to_share(const cuda::PointerFacts& facts) const {
    return static_cast<PeerWays>(ways_of(facts) & place_.ways);
  }
  Status publish_allocation(const std::string& name, const cuda::PointerFacts& facts) const {
    return PeerMemory::publish_allocation(place_, terms_.shelves, name, facts);
  }
  void withdraw(const std::string& name) const { terms_.shelves.shelf->withdraw(name); }
  Result<PeerMemory> fetch(int peer, const std::string& name, size_t bytes, Deadline deadline,
                           const std::function<Status()>& stopped) const {
    return PeerMemory::fetch(place_, terms_.shelves, peer, way_to(peer), name, bytes, deadline,
                             stopped);
  }
  // Bytes of memory that publish() makes.
  static size_t published_bytes(size_t bytes);

  // ---- Before the first ring: whether memory of the peer's GPU can be used here, by trying.
  // What a peer tries. Keep it until all have.
  static Result<PeerMemory> publish_probe(const PeerPlace& place, const PeerShelves& shelves);
  // The first way that works of those the peer has opened, or why none does.
  static Result<PeerWay> try_peer(const PeerPlace& place, const PeerShelves& shelves, int peer,
                                  PeerWays opened, Deadline deadline);

 private:
  Status clear(const PeerMemory& memory, size_t from, size_t bytes) const;
  DevicePort port(const PeerMemory& ring, int peer) const;

  std::string ring_name(int source, int lane) const;

  const Terms terms_;
  const PeerPlace place_;
  const Shape shape_;
  std::list<PeerMemory> rings_;
  int closings_ = 0;
  std::atomic<size_t> received_bytes_{0};  // partner: memory_bytes() of any thread
};

}  // namespace strait
