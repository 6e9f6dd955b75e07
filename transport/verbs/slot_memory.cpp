#include "transport/verbs/slot_memory.hpp"

#include <sys/mman.h>

#include <cerrno>

namespace strait::verbs {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr size_t kLineBytes = 64;

size_t rounded(size_t bytes, size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

Result<SlotMemory> SlotMemory::allocate(const LinkSpec& spec, const Device& device, int access) {
  SlotMemory result;
  result.slots_ = spec.slots;
  result.stride_ = rounded(spec.slot_bytes, kLineBytes);
  result.bytes_ = rounded(result.stride_ * spec.slots, kPageBytes);
  const std::string place =
      fmt::format("link {}->{} lane {}", spec.source, spec.destination, spec.lane);
  // Pages of their own: registered pages are kept out of forked children.
  void* const memory = mmap(nullptr, result.bytes_, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED)
    return error(Code::kSystemError,
                 "{}: no memory for {} slots of {} bytes; lower STRAIT_SLOTS or STRAIT_SLOT_BYTES",
                 place, spec.slots, spec.slot_bytes);
  result.memory_.reset(static_cast<std::byte*>(memory),
                       [bytes = result.bytes_](std::byte* pages) { munmap(pages, bytes); });
  result.registration_ =
      own((device.calls().reg_mr)(device.domain(), memory, result.bytes_, access),
          device.calls().dereg_mr);
  if (!result.registration_)
    return verbs_error(fmt::format("{}: registering {} bytes of slots with {}", place,
                                   result.bytes_, device.name()),
                       errno);
  return result;
}

}  // namespace strait::verbs
