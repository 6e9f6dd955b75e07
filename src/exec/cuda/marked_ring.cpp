#include "exec/cuda/marked_ring.hpp"

#include <atomic>
#include <cstring>

namespace strait {
namespace {

constexpr size_t kAlignment = 256;

size_t aligned(size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

Result<MarkedRing> MarkedRing::create(const cuda::Driver& driver, cuda::ContextHandle context,
                                      uint32_t slots, size_t slot_bytes) {
  MarkedRing ring;
  ring.slots_ = slots;
  ring.slot_bytes_ = aligned(slot_bytes);
  ring.marks_at_ = slots * ring.slot_bytes_;
  ring.released_at_ = ring.marks_at_ + aligned(slots * sizeof(SlotMark));
  const size_t bytes = ring.released_at_ + kAlignment;
  STRAIT_ASSIGN(ring.memory_, cuda::PinnedMemory::allocate(driver, context, bytes,
                                                           "slots between a GPU and a link"));
  std::memset(ring.at(ring.marks_at_), 0, bytes - ring.marks_at_);
  ring.set_mode(codec::Options{}.mode);
  return ring;
}

DevicePort MarkedRing::device_port(uint32_t peer) const {
  auto* base = reinterpret_cast<unsigned char*>(memory_.pointer());
  return {.slots = base,
          .slot_stride = slot_bytes_,
          .marks = reinterpret_cast<SlotMark*>(base + marks_at_),
          .released = reinterpret_cast<uint64_t*>(base + released_at_),
          .mode = reinterpret_cast<const uint32_t*>(base + released_at_ + sizeof(uint64_t)),
          .flagged = nullptr,
          .flagged_stride = 0,
          .slot_count = slots_,
          .peer = peer,
          .sequence = 0};
}

std::optional<MarkedRing::Posted> MarkedRing::posted(uint64_t sequence) const {
  SlotMark& found = mark(sequence);
  // Partner: post() of ports.cuh.
  const uint64_t word = std::atomic_ref(found.word).load(std::memory_order_acquire);
  if (static_cast<uint32_t>(word >> 32) != static_cast<uint32_t>(sequence + 1)) return {};
  Posted posted{.bytes = static_cast<uint32_t>(word & 0xffffffffu),
                .tag = found.tag,
                .type = static_cast<DataType>(found.type),
                .value_bytes = found.value_bytes,
                .mode = {},
                .took_ns = static_cast<int64_t>(found.took * kTookUnitNs)};
  if (found.mode != kNoMode) posted.mode = static_cast<codec::Mode>(found.mode);
  return posted;
}

void MarkedRing::post(uint64_t sequence, uint32_t bytes, uint32_t tag) const {
  SlotMark& next = mark(sequence);
  next.tag = tag;
  // Partner: wait_for_message() of ports.cuh.
  std::atomic_ref(next.word).store(slot_word(sequence, bytes), std::memory_order_release);
}

uint64_t MarkedRing::released() const {
  // Partner: release() of ports.cuh.
  return std::atomic_ref(*reinterpret_cast<uint64_t*>(at(released_at_)))
      .load(std::memory_order_acquire);
}

void MarkedRing::set_released(uint64_t count) const {
  // Partner: wait_for_room() of ports.cuh.
  std::atomic_ref(*reinterpret_cast<uint64_t*>(at(released_at_)))
      .store(count, std::memory_order_release);
}

void MarkedRing::set_mode(codec::Mode mode) const {
  // Partner: Lane::choose_mode() of lane.cuh.
  std::atomic_ref(*reinterpret_cast<uint32_t*>(at(released_at_ + sizeof(uint64_t))))
      .store(static_cast<uint32_t>(mode), std::memory_order_relaxed);
}

}  // namespace strait
