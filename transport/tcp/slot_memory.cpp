#include "transport/tcp/slot_memory.hpp"

#include <new>

namespace strait::tcp {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr std::align_val_t kAlignment{kPageBytes};

}  // namespace

Result<SlotMemory> SlotMemory::allocate(const LinkSpec& spec) {
  SlotMemory result;
  result.slots_ = spec.slots;
  result.slot_bytes_ = spec.slot_bytes;
  result.stride_ = kLead + (spec.slot_bytes + kLead - 1) / kLead * kLead;
  result.bytes_ = (result.stride_ * spec.slots + kPageBytes - 1) / kPageBytes * kPageBytes;
  result.memory_.reset(
      static_cast<std::byte*>(::operator new(result.bytes_, kAlignment, std::nothrow)),
      [](std::byte* memory) { ::operator delete(memory, kAlignment); });
  if (!result.memory_)
    return error(Code::kSystemError,
                 "link {}->{} lane {}: no memory for {} slots of {} bytes; lower STRAIT_SLOTS or "
                 "STRAIT_SLOT_BYTES",
                 spec.source, spec.destination, spec.lane, spec.slots, spec.slot_bytes);
  return result;
}

}  // namespace strait::tcp
