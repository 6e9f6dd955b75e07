// ShmPeer: the other process as this rank's links see it: its doorbell, mapped here, and the line
// that breaks when it dies. Shared by all links to that rank, and never destroyed on the reactor's
// thread, where lose() runs; watch() may be called from any.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/fd_exchange.hpp"
#include "base/shared_memory.hpp"
#include "transport/ring/ring_port.hpp"

namespace strait {

inline constexpr const char* kDoorbellName = "shm doorbell";

class ShmPeer {
 public:
  // Fetches the doorbell of `rank`.
  static Result<std::shared_ptr<ShmPeer>> find(const std::string& address, uint64_t comm_key,
                                               int rank, std::span<const std::byte> secret,
                                               Deadline deadline);

  // The doorbell; the pointer keeps its memory mapped.
  std::shared_ptr<Doorbell> doorbell() const;
  // Ok while the other rank is there.
  Status status() const;
  // Tells this port when the other rank leaves or dies, at once if it already has.
  void watch(const std::shared_ptr<RingPort>& port);

 private:
  void lose(const Status& why);

  struct RemoteBell {
    SharedMemory memory;
    Doorbell doorbell{nullptr};
  };

  std::shared_ptr<RemoteBell> bell_ = std::make_shared<RemoteBell>();
  mutable std::mutex mutex_;
  Status loss_;
  std::vector<std::weak_ptr<RingPort>> ports_;
  std::unique_ptr<PeerLine> line_;  // last: its call-back uses all of the above
};

}  // namespace strait
