#include "transport/tcp/slot_memory.hpp"

#include <new>

namespace strait::tcp {
namespace {

constexpr std::align_val_t kAlignment{4096};

}  // namespace

Result<SlotMemory> SlotMemory::allocate(const LinkSpec& spec) {
  SlotMemory result;
  result.slots_ = spec.slots;
  result.slot_bytes_ = spec.slot_bytes;
  result.stride_ = kLead + (spec.slot_bytes + kLead - 1) / kLead * kLead;
  const size_t bytes = result.stride_ * spec.slots;
  result.memory_.reset(static_cast<std::byte*>(::operator new(bytes, kAlignment, std::nothrow)));
  if (!result.memory_)
    return error(Code::kSystemError,
                 "link {}->{} lane {}: no memory for {} slots of {} bytes; lower STRAIT_SLOTS or "
                 "STRAIT_SLOT_BYTES",
                 spec.source, spec.destination, spec.lane, spec.slots, spec.slot_bytes);
  return result;
}

void SlotMemory::Free::operator()(std::byte* memory) const {
  ::operator delete(memory, kAlignment);
}

}  // namespace strait::tcp
