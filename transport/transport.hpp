// Transport: one way to join two ranks. It says what a peer must know to reach it (address),
// whether it reaches a peer (by trying), and makes the two ends of a link. One instance per
// communicator; to add one: a folder, a line in all.cpp, a line in the contract test. Wrappers
// (throttle, trace, fault) hold another transport.
//
// connect() needs nothing of the peer but its background reactor; accept() waits for the peer's
// connect(). So whoever connects all its senders before it accepts its receivers cannot deadlock.
// Both may be called from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/config.hpp"
#include "base/doorbell.hpp"
#include "base/shared_memory.hpp"
#include "base/status.hpp"
#include "transport/device_slots.hpp"
#include "transport/link.hpp"

namespace strait {

// Which link of a communicator: the same on both ends.
struct LinkSpec {
  int source = 0;       // rank that sends
  int destination = 0;  // rank that receives
  int lane = 0;
  uint32_t slots = 1;
  size_t slot_bytes = 0;
  bool on_gpu = false;  // each end's own wish: slots in its GPU's memory, where that can be

  bool operator==(const LinkSpec&) const = default;
};

// What a transport knows about the communicator it serves.
struct TransportContext {
  int rank = 0;
  uint64_t comm_key = 0;          // tells this communicator from all others, equal on its ranks
  std::vector<std::byte> secret;  // 32 bytes shared by the ranks: who cannot prove it is not let in
  Config config;
  Doorbell* doorbell = nullptr;  // of this rank: rung by its links; outlives the transport
  int doorbell_fd = -1;          // memory behind the doorbell (memfd), for processes of this host
  std::shared_ptr<DeviceSlotSource> device_slots{};  // of a rank on a GPU; null: no NIC reaches it
};

// Rough figures for choosing between transports that reach the same peer.
struct LinkSpeed {
  double latency_us = 0;
  double gigabytes_per_second = 0;
};

class Transport {
 public:
  virtual ~Transport() = default;

  virtual std::string_view name() const = 0;
  virtual LinkSpeed speed() const = 0;
  // Bytes a peer needs for reach() and connect(); handed round when the communicator is made.
  virtual std::string address() const = 0;
  // Ok if this transport reaches the peer, else why not ("other host", "shared memory cannot be
  // attached: ..."). Tries; does not compare names.
  virtual Status reach(int peer, const std::string& peer_address, Deadline deadline) = 0;
  virtual Result<std::unique_ptr<SendLink>> connect(const std::string& peer_address,
                                                    const LinkSpec& spec, Deadline deadline) = 0;
  virtual Result<std::unique_ptr<RecvLink>> accept(const std::string& peer_address,
                                                   const LinkSpec& spec, Deadline deadline) = 0;
  // A segment (base/segments.hpp) of the peer's process, mapped here to be read and written.
  virtual Result<std::shared_ptr<const SharedMemory>> map_segment(int peer,
                                                                  const std::string& peer_address,
                                                                  uint64_t segment,
                                                                  Deadline deadline);
};

inline Result<std::shared_ptr<const SharedMemory>> Transport::map_segment(int peer,
                                                                          const std::string&,
                                                                          uint64_t, Deadline) {
  return error(Code::kInvalidUsage, "{} does not reach into the memory of rank {}", name(), peer);
}

// The transports named in the setting TRANSPORTS, fastest first, each ready to be reached.
Result<std::vector<std::unique_ptr<Transport>>> open_transports(const TransportContext& context);

}  // namespace strait
