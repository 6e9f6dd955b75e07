// PeerMemory: memory of one GPU that kernels on other GPUs of its domain write into, as its owner
// made it, or as a peer has mapped it. How it is handed over depends on the machine: by file
// descriptor between processes of one host, by fabric handle inside an NVLink domain of several
// hosts, by legacy IPC handle where a GPU has no memory to map. Movable, one owner; one thread;
// never on the hot path.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/cuda/ipc_memory.hpp"
#include "base/cuda/mapped_memory.hpp"
#include "base/cuda/memory.hpp"
#include "base/cuda/pointer.hpp"
#include "base/fd_exchange.hpp"
#include "transport/net/notes.hpp"

namespace strait {

// How a peer's memory is reached.
enum class PeerWay : uint8_t { kNone, kFileDescriptor, kFabricHandle, kIpcHandle };
// Several of them: bit 1 << way each.
using PeerWays = uint8_t;
constexpr PeerWays bit_of(PeerWay way) {
  return static_cast<PeerWays>(1u << static_cast<unsigned>(way));
}
constexpr bool has(PeerWays ways, PeerWay way) {
  return (ways & bit_of(way)) != 0;
}

struct PeerPlace {
  const cuda::Driver* driver;
  cuda::ContextHandle context;
  int device;
  PeerWays ways;  // in which this GPU's memory can be shared
};
Result<PeerWays> ways_of(const cuda::Driver& driver, cuda::ContextHandle context, int device);

// In which ways memory that somebody else made can be shared.
PeerWays ways_of(const cuda::PointerFacts& facts);

// Where a rank leaves what the others need of its memory, and where it finds theirs.
struct PeerShelves {
  int rank = 0;
  uint64_t comm_key = 0;
  std::vector<std::byte> secret;
  std::unique_ptr<FdShelf> shelf;         // descriptors, for this host
  std::unique_ptr<net::NoteBoard> board;  // handles, for the domain
  // By rank: of its process.
  std::vector<std::string> exchanges;
  std::vector<std::vector<net::Address>> boards;
};

class PeerMemory {
 public:
  PeerMemory() = default;
  // Shareable in every way of the place.
  static Result<PeerMemory> make(const PeerPlace& place, size_t bytes);
  Status publish(const PeerPlace& place, const PeerShelves& shelves, const std::string& name,
                 FdUses uses) const;
  // The allocation in which somebody else's memory of this GPU lies, from its start on.
  static Status publish_allocation(const PeerPlace& place, const PeerShelves& shelves,
                                   const std::string& name, const cuda::PointerFacts& facts);
  // What `peer` publishes: waits for it, or until `stopped` has a reason not to.
  static Result<PeerMemory> fetch(const PeerPlace& place, const PeerShelves& shelves, int peer,
                                  PeerWay way, const std::string& name, size_t bytes,
                                  Deadline deadline, const std::function<Status()>& stopped = {});

  cuda::DevicePointer pointer() const;
  unsigned char* data() const { return reinterpret_cast<unsigned char*>(pointer()); }

 private:
  // The memory as the two ways to share it name it; one of them is there.
  struct Named {
    const cuda::PhysicalMemory* physical = nullptr;
    cuda::DevicePointer plain = 0;
  };
  static Status publish(const PeerPlace& place, const PeerShelves& shelves, const std::string& name,
                        FdUses uses, PeerWays ways, const Named& memory);

  // One of them is there.
  cuda::MappedMemory mapped_;
  cuda::DeviceMemory plain_;
  cuda::IpcMemory opened_;
};

}  // namespace strait
