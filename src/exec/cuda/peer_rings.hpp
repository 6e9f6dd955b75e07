// PeerRings: links between GPUs of one domain, turned by kernels on both ends. The ring lies in the
// receiver's GPU memory; the sender's kernels write into it over NVLink (or PCIe), and nobody else
// takes part. The receiver makes it and puts it on its shelf; the sender fetches it from there,
// maps it for its own GPU, and both have a port. Owned by the engine; one thread; never on the hot
// path.
//
//   | slots | flagged slots | marks | released |      in steps of 2 MiB, as devices map memory
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "base/cuda/mapped_memory.hpp"
#include "base/fd_exchange.hpp"
#include "exec/cuda/device_call.hpp"

namespace strait {

class PeerRings {
 public:
  struct Terms {
    int rank = 0;
    std::unique_ptr<FdShelf> shelf;      // of this rank
    std::vector<std::string> addresses;  // by rank: of its process; empty: not by these rings
    uint64_t comm_key = 0;
    std::vector<std::byte> secret;
  };
  struct Place {
    const cuda::Driver* driver;
    cuda::ContextHandle context;
    int device;
    uint32_t slots;
    size_t slot_bytes;
  };

  PeerRings(Terms terms, const Place& place) : terms_(std::move(terms)), place_(place) {}

  bool reaches(int peer) const {
    return static_cast<size_t>(peer) < terms_.addresses.size() &&
           !terms_.addresses[static_cast<size_t>(peer)].empty();
  }
  // Returns at once; the sender may fetch the ring from then on.
  Result<DevicePort> open_receiver(int source, int lane);
  // Waits until the receiver has made it, or `stopped` has a reason not to.
  Result<DevicePort> open_sender(int destination, int lane, Deadline deadline,
                                 const std::function<Status()>& stopped);

  // ---- Before the first ring: whether memory of the peer's GPU can be used here, by trying.
  static constexpr const char* kProbe = "gpu";
  // What a peer tries. Keep it until all have.
  static Result<cuda::MappedMemory> publish_probe(const Place& place, FdShelf& shelf);
  static Status try_peer(const Place& place, const Terms& terms, int peer, Deadline deadline);

 private:
  DevicePort port(const cuda::MappedMemory& ring, int peer) const;

  const Terms terms_;
  const Place place_;
  std::list<cuda::MappedMemory> rings_;
};

}  // namespace strait
