#include "exec/cuda/staged_ring.hpp"

#include <atomic>
#include <cstring>

namespace strait {
namespace {

constexpr size_t kAlignment = 256;

size_t aligned(size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

Result<StagedRing> StagedRing::create(const cuda::Driver& driver, cuda::ContextHandle context,
                                      uint32_t slots, size_t slot_bytes) {
  StagedRing ring;
  ring.slots_ = slots;
  ring.slot_bytes_ = aligned(slot_bytes);
  ring.marks_at_ = slots * ring.slot_bytes_;
  ring.released_at_ = ring.marks_at_ + aligned(slots * sizeof(SlotMark));
  const size_t bytes = ring.released_at_ + kAlignment;
  STRAIT_ASSIGN(ring.memory_, cuda::PinnedMemory::allocate(driver, context, bytes,
                                                           "slots between a GPU and a "
                                                           "link"));
  std::memset(ring.at(ring.marks_at_), 0, bytes - ring.marks_at_);
  return ring;
}

DevicePort StagedRing::device_port(uint32_t peer) const {
  auto* base = reinterpret_cast<unsigned char*>(memory_.pointer());
  return {.slots = base,
          .slot_stride = slot_bytes_,
          .marks = reinterpret_cast<SlotMark*>(base + marks_at_),
          .released = reinterpret_cast<uint64_t*>(base + released_at_),
          .flagged = nullptr,
          .flagged_stride = 0,
          .slot_count = slots_,
          .peer = peer,
          .sequence = 0};
}

SlotMark& StagedRing::mark() const {
  return reinterpret_cast<SlotMark*>(at(marks_at_))[sequence_ % slots_];
}

bool StagedRing::look(Posted* posted) const {
  SlotMark& found = mark();
  // Partner: post() of ports.cuh.
  const uint64_t word = std::atomic_ref(found.word).load(std::memory_order_acquire);
  if (static_cast<uint32_t>(word >> 32) != static_cast<uint32_t>(sequence_ + 1)) return false;
  const std::byte* slot_begin = at(sequence_ % slots_ * slot_bytes_);
  *posted = {.bytes = {slot_begin, static_cast<size_t>(word & 0xffffffffu)},
             .tag = found.tag,
             .type = found.type};
  return true;
}

void StagedRing::release() {
  auto& released = *reinterpret_cast<uint64_t*>(at(released_at_));
  // Partner: wait_for_room() of ports.cuh.
  std::atomic_ref(released).store(++sequence_, std::memory_order_release);
}

bool StagedRing::has_room() const {
  auto& released = *reinterpret_cast<uint64_t*>(at(released_at_));
  // Partner: release() of ports.cuh.
  return sequence_ - std::atomic_ref(released).load(std::memory_order_acquire) < slots_;
}

std::span<std::byte> StagedRing::slot() {
  return {at(sequence_ % slots_ * slot_bytes_), slot_bytes_};
}

void StagedRing::post(size_t bytes, uint32_t tag) {
  SlotMark& next = mark();
  next.tag = tag;
  // Partner: wait_for_message() of ports.cuh.
  std::atomic_ref(next.word).store(slot_word(sequence_, bytes), std::memory_order_release);
  ++sequence_;
}

}  // namespace strait
