#include "exec/cuda/peer_rings.hpp"

#include "base/cuda/memory.hpp"
#include "base/cuda/patience.hpp"
#include "base/cuda/stream.hpp"

namespace strait {
namespace {

constexpr size_t kStepBytes = size_t{2} << 20;
constexpr size_t kAlignment = 256;
constexpr int64_t kClearMs = 60'000;
constexpr const char* kProbe = "gpu";

size_t aligned(size_t bytes, size_t step) {
  return (bytes + step - 1) / step * step;
}

// Where the parts of a ring lie.
struct Layout {
  explicit Layout(const PeerRings::Shape& shape)
      : slot_stride(aligned(shape.slot_bytes, kAlignment)),
        flagged(shape.slots * slot_stride),
        marks(flagged + aligned(shape.slots * kFlaggedStride, kAlignment)),
        released(marks + aligned(shape.slots * sizeof(SlotMark), kAlignment)),
        bytes(aligned(released + kAlignment, kStepBytes)) {}

  size_t slot_stride;
  size_t flagged;
  size_t marks;
  size_t released;
  size_t bytes;
};

}  // namespace

// What was published before a closing must not be taken for what comes after it.
std::string PeerRings::ring_name(int source, int lane) const {
  return fmt::format("ring {}, lane {}, {}", source, lane, closings_);
}

void PeerRings::close() {
  rings_.clear();
  ++closings_;
  received_bytes_.store(0);
}

DevicePort PeerRings::port(const PeerMemory& ring, int peer) const {
  const Layout layout(shape_);
  unsigned char* const base = ring.data();
  return {.slots = base,
          .slot_stride = layout.slot_stride,
          .marks = reinterpret_cast<SlotMark*>(base + layout.marks),
          .released = reinterpret_cast<uint64_t*>(base + layout.released),
          .mode = nullptr,
          .flagged = base + layout.flagged,
          .flagged_stride = kFlaggedStride,
          .slot_count = shape_.slots,
          .peer = static_cast<uint32_t>(peer),
          .sequence = 0};
}

Status PeerRings::clear(const PeerMemory& memory, size_t from, size_t bytes) const {
  STRAIT_ASSIGN(const cuda::ContextScope scope,
                cuda::ContextScope::enter(*place_.driver, place_.context));
  STRAIT_ASSIGN(const cuda::Stream stream, cuda::Stream::create(*place_.driver, place_.context));
  STRAIT_TRY(cuda::fill(*place_.driver, memory.pointer() + from, 0, bytes, stream.get()));
  return cuda::wait_idle(*place_.driver, stream.get(), Deadline::after_ms(kClearMs));
}

size_t PeerRings::published_bytes(size_t bytes) {
  return aligned(bytes, kStepBytes);
}

Result<PeerMemory> PeerRings::publish(const std::string& name, size_t bytes) const {
  STRAIT_ASSIGN(PeerMemory memory, PeerMemory::make(place_, published_bytes(bytes)));
  STRAIT_TRY(clear(memory, 0, published_bytes(bytes)));
  STRAIT_TRY(memory.publish(place_, terms_.shelves, name, FdUses::kMany));
  return memory;
}

Result<DevicePort> PeerRings::open_receiver(int source, int lane) {
  const Layout layout(shape_);
  STRAIT_ASSIGN(PeerMemory ring, PeerMemory::make(place_, layout.bytes));
  // Flags and marks count from 1: nothing may look like a message that came.
  STRAIT_TRY(clear(ring, layout.flagged, layout.bytes - layout.flagged));
  STRAIT_TRY(ring.publish(place_, terms_.shelves, ring_name(source, lane), FdUses::kOnce));
  received_bytes_.fetch_add(layout.bytes);
  rings_.push_back(std::move(ring));
  return port(rings_.back(), source);
}

Result<DevicePort> PeerRings::open_sender(int destination, int lane, Deadline deadline,
                                          const std::function<Status()>& stopped) {
  const Layout layout(shape_);
  STRAIT_ASSIGN(
      PeerMemory ring,
      PeerMemory::fetch(place_, terms_.shelves, destination, way_to(destination),
                        ring_name(terms_.shelves.rank, lane), layout.bytes, deadline, stopped));
  rings_.push_back(std::move(ring));
  return port(rings_.back(), destination);
}

Result<PeerMemory> PeerRings::publish_probe(const PeerPlace& place, const PeerShelves& shelves) {
  STRAIT_ASSIGN(PeerMemory probe, PeerMemory::make(place, kStepBytes));
  STRAIT_TRY(probe.publish(place, shelves, kProbe, FdUses::kMany));
  return probe;
}

Result<PeerWay> PeerRings::try_peer(const PeerPlace& place, const PeerShelves& shelves, int peer,
                                    PeerWays opened, Deadline deadline) {
  // Of several reasons the last is the one to look at: descriptors do not leave the host.
  Status why = error(Code::kSystemError, "rank {} cannot share its GPU's memory", peer);
  for (const PeerWay way :
       {PeerWay::kFileDescriptor, PeerWay::kFabricHandle, PeerWay::kIpcHandle}) {
    if (!has(opened, way)) continue;
    const auto found = PeerMemory::fetch(place, shelves, peer, way, kProbe, kStepBytes, deadline);
    if (found.ok()) return way;
    why = found.status();
  }
  return why;
}

}  // namespace strait
