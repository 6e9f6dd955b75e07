#include "exec/cuda/peer_rings.hpp"

#include <array>

#include "base/cuda/memory.hpp"
#include "base/cuda/patience.hpp"
#include "base/cuda/stream.hpp"

namespace strait {
namespace {

constexpr size_t kStepBytes = size_t{2} << 20;
constexpr size_t kAlignment = 256;

size_t aligned(size_t bytes, size_t step) {
  return (bytes + step - 1) / step * step;
}

// Where the parts of a ring lie.
struct Layout {
  explicit Layout(const PeerRings::Place& place)
      : slot_stride(aligned(place.slot_bytes, kAlignment)),
        flagged(place.slots * slot_stride),
        marks(flagged + aligned(place.slots * kFlaggedStride, kAlignment)),
        released(marks + aligned(place.slots * sizeof(SlotMark), kAlignment)),
        bytes(aligned(released + kAlignment, kStepBytes)) {}

  size_t slot_stride;
  size_t flagged;
  size_t marks;
  size_t released;
  size_t bytes;
};

std::string name_of(int source, int lane) {
  return fmt::format("ring from {}, lane {}", source, lane);
}

Result<cuda::MappedMemory> make_shared(const PeerRings::Place& place, size_t bytes) {
  STRAIT_ASSIGN(cuda::PhysicalMemory memory,
                cuda::PhysicalMemory::create(*place.driver, place.context, place.device,
                                             {.bytes = bytes, .file_descriptor = true}));
  const std::array devices = {place.device};
  return cuda::MappedMemory::map(std::move(memory), devices);
}

Status publish(const cuda::MappedMemory& memory, FdShelf& shelf, const std::string& name,
               FdUses uses) {
  STRAIT_ASSIGN(UniqueFd fd, memory.physical().export_fd());
  return shelf.publish(name, std::move(fd), uses);
}

Result<cuda::MappedMemory> fetch(const PeerRings::Place& place, const PeerRings::Terms& terms,
                                 int peer, const std::string& name, size_t bytes, Deadline deadline,
                                 const std::function<Status()>& stopped = {}) {
  STRAIT_ASSIGN(const FetchedFd fetched,
                fetch_fd(terms.addresses[static_cast<size_t>(peer)], terms.comm_key, peer, name,
                         terms.secret, deadline, stopped));
  STRAIT_ASSIGN(cuda::PhysicalMemory memory,
                cuda::PhysicalMemory::import_from(*place.driver, place.context, fetched.fd, bytes));
  const std::array devices = {place.device};
  return cuda::MappedMemory::map(std::move(memory), devices);
}

}  // namespace

DevicePort PeerRings::port(const cuda::MappedMemory& ring, int peer) const {
  const Layout layout(place_);
  auto* base = static_cast<unsigned char*>(ring.data());
  return {.slots = base,
          .slot_stride = layout.slot_stride,
          .marks = reinterpret_cast<SlotMark*>(base + layout.marks),
          .released = reinterpret_cast<uint64_t*>(base + layout.released),
          .flagged = base + layout.flagged,
          .flagged_stride = kFlaggedStride,
          .slot_count = place_.slots,
          .peer = static_cast<uint32_t>(peer),
          .sequence = 0};
}

Result<DevicePort> PeerRings::open_receiver(int source, int lane) {
  const Layout layout(place_);
  STRAIT_ASSIGN(cuda::MappedMemory ring, make_shared(place_, layout.bytes));
  {
    // Flags and marks count from 1: nothing may look like a message that came.
    STRAIT_ASSIGN(const cuda::ContextScope scope,
                  cuda::ContextScope::enter(*place_.driver, place_.context));
    STRAIT_ASSIGN(const cuda::Stream stream, cuda::Stream::create(*place_.driver, place_.context));
    STRAIT_TRY(cuda::fill(*place_.driver, ring.pointer() + layout.flagged, 0,
                          layout.bytes - layout.flagged, stream.get()));
    STRAIT_TRY(cuda::wait_idle(*place_.driver, stream.get(), Deadline::after_ms(60'000)));
  }
  STRAIT_TRY(publish(ring, *terms_.shelf, name_of(source, lane), FdUses::kOnce));
  rings_.push_back(std::move(ring));
  return port(rings_.back(), source);
}

Result<DevicePort> PeerRings::open_sender(int destination, int lane, Deadline deadline,
                                          const std::function<Status()>& stopped) {
  const Layout layout(place_);
  STRAIT_ASSIGN(cuda::MappedMemory ring,
                fetch(place_, terms_, destination, name_of(terms_.rank, lane), layout.bytes,
                      deadline, stopped));
  rings_.push_back(std::move(ring));
  return port(rings_.back(), destination);
}

Result<cuda::MappedMemory> PeerRings::publish_probe(const Place& place, FdShelf& shelf) {
  STRAIT_ASSIGN(cuda::MappedMemory probe, make_shared(place, kStepBytes));
  STRAIT_TRY(publish(probe, shelf, kProbe, FdUses::kMany));
  return probe;
}

Status PeerRings::try_peer(const Place& place, const Terms& terms, int peer, Deadline deadline) {
  return fetch(place, terms, peer, kProbe, kStepBytes, deadline).status();
}

}  // namespace strait
