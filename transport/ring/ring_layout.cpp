#include "transport/ring/ring_layout.hpp"

#include <new>

namespace strait {
namespace {

constexpr size_t round_up(size_t bytes) {
  return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
}

}  // namespace

static_assert(std::atomic<uint64_t>::is_always_lock_free, "the ring is shared by processes");
static_assert(sizeof(RingHeader) % kCacheLine == 0);

Result<size_t> ring_bytes(const LinkSpec& spec) {
  STRAIT_CHECK(spec.slots > 0 && spec.slot_bytes > 0, "a link has at least one slot of one byte");
  const size_t fixed = sizeof(RingHeader) + round_up(spec.slots * sizeof(SlotHeader));
  size_t bytes = 0;
  if (spec.slot_bytes > SIZE_MAX / 2 ||
      __builtin_mul_overflow(round_up(spec.slot_bytes), size_t{spec.slots}, &bytes) ||
      bytes > SIZE_MAX / 2 - fixed)
    return error(Code::kInvalidArgument, "link {}->{} lane {}: {} slots of {} bytes fit no memory",
                 spec.source, spec.destination, spec.lane, spec.slots, spec.slot_bytes);
  return fixed + bytes;
}

RingView view_ring(std::byte* memory, const LinkSpec& spec) {
  RingView view;
  view.header = reinterpret_cast<RingHeader*>(memory);
  view.slot_headers = reinterpret_cast<SlotHeader*>(memory + sizeof(RingHeader));
  view.first_slot = memory + sizeof(RingHeader) + round_up(spec.slots * sizeof(SlotHeader));
  view.slots = spec.slots;
  view.slot_bytes = spec.slot_bytes;
  view.stride = round_up(spec.slot_bytes);
  return view;
}

RingView make_ring(std::byte* memory, const LinkSpec& spec) {
  auto* header = new (memory) RingHeader{};
  header->magic = kRingMagic;
  header->version = kRingVersion;
  header->source = spec.source;
  header->destination = spec.destination;
  header->lane = spec.lane;
  header->slots = spec.slots;
  header->slot_bytes = spec.slot_bytes;
  return view_ring(memory, spec);
}

Status check_ring(const std::byte* memory, const LinkSpec& spec) {
  const auto* header = reinterpret_cast<const RingHeader*>(memory);
  if (header->magic != kRingMagic || header->version != kRingVersion)
    return error(Code::kRemoteError,
                 "the memory of link {}->{} lane {} is no ring of version {}; do all ranks run the "
                 "same version?",
                 spec.source, spec.destination, spec.lane, kRingVersion);
  if (header->source != spec.source || header->destination != spec.destination ||
      header->lane != spec.lane)
    return error(Code::kRemoteError, "link {}->{} lane {} was answered by link {}->{} lane {}",
                 spec.source, spec.destination, spec.lane, header->source, header->destination,
                 header->lane);
  if (header->slots != spec.slots || header->slot_bytes != spec.slot_bytes)
    return error(Code::kInvalidUsage,
                 "link {}->{} lane {} has {} slots of {} bytes at rank {} and {} of {} here; set "
                 "STRAIT_SLOTS and STRAIT_SLOT_BYTES alike on all ranks",
                 spec.source, spec.destination, spec.lane, header->slots, header->slot_bytes,
                 spec.source, spec.slots, spec.slot_bytes);
  return Status();
}

}  // namespace strait
