// ShmPeer: the other process as this rank's links see it: its doorbell and the segments it lends
// from, mapped here, and the line that breaks when it dies. Shared by all links to that rank, and
// never destroyed on the reactor's thread, where lose() runs; the other calls may come from any.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/fd_exchange.hpp"
#include "base/shared_memory.hpp"
#include "transport/ring/reach.hpp"
#include "transport/ring/ring_port.hpp"

namespace strait {

inline constexpr const char* kDoorbellName = "shm doorbell";
inline constexpr const char* kSegmentPrefix = "segment ";  // the number of the segment follows

class ShmPeer final : public Reach {
 public:
  // Where the other rank is found.
  struct Door {
    std::string address;
    uint64_t comm_key;
    int rank;
    std::vector<std::byte> secret;
  };

  // Fetches the doorbell of the rank.
  static Result<std::shared_ptr<ShmPeer>> find(Door door, Deadline deadline);

  std::optional<Reference> name(std::span<const std::byte> bytes) const override;
  Result<Found> find(const Reference& reference) override;
  // A segment of the other process, mapped here; fetched when it is not known yet.
  Result<std::shared_ptr<const SharedMemory>> segment(uint64_t number, Deadline deadline);

  // The doorbell; the pointer keeps its memory mapped.
  std::shared_ptr<Doorbell> doorbell() const;
  // Ok while the other rank is there.
  Status status() const;
  explicit ShmPeer(Door door) : door_(std::move(door)) {}
  // Tells this port when the other rank leaves or dies, at once if it already has.
  void watch(const std::shared_ptr<RingPort>& port);

 private:
  void lose(const Status& why);

  struct RemoteBell {
    SharedMemory memory;
    Doorbell doorbell{nullptr};
  };

  // Segments that were freed over there cost addresses here, no pages; the oldest go first.
  static constexpr size_t kSegmentsMax = 256;
  struct Mapped {
    uint64_t number;
    std::shared_ptr<const SharedMemory> memory;
  };

  const Door door_;
  std::mutex segments_mutex_;  // guards what follows; held while a segment is fetched
  std::deque<Mapped> segments_;
  int64_t unanswered_since_ns_ = 0;  // 0: the last fetch was answered

  std::shared_ptr<RemoteBell> bell_ = std::make_shared<RemoteBell>();
  mutable std::mutex mutex_;
  Status loss_;
  std::vector<std::weak_ptr<RingPort>> ports_;
  std::unique_ptr<PeerLine> line_;  // last: its call-back uses all of the above
};

}  // namespace strait
