#include "transport/verbs/slot_memory.hpp"

#include <sys/mman.h>

#include <cerrno>

#include "base/log.hpp"

namespace strait::verbs {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr size_t kLineBytes = 64;

size_t rounded(size_t bytes, size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// Pages of their own: registered pages are kept out of forked children.
std::shared_ptr<std::byte> pages_of(size_t bytes) {
  void* const pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  return {static_cast<std::byte*>(pages), [bytes](std::byte* memory) { munmap(memory, bytes); }};
}

}  // namespace

Result<SlotMemory> SlotMemory::allocate(const LinkSpec& spec, const Device& device, int access,
                                        DeviceSlotSource* source) {
  SlotMemory result;
  result.slots_ = spec.slots;
  result.slot_bytes_ = spec.slot_bytes;
  result.stride_ = rounded(spec.slot_bytes, kLineBytes);
  result.bytes_ = rounded(result.stride_ * spec.slots, kPageBytes);
  const std::string link =
      fmt::format("link {}->{} lane {}", spec.source, spec.destination, spec.lane);
  if (spec.on_gpu && source != nullptr) {
    const Status refused = result.place_on_gpu(device, access, *source);
    if (refused.ok()) {
      log_info(LogPart::kNet, "{}: {} has its slots in the memory of the GPU", link, device.name());
      return result;
    }
    log_info(LogPart::kInit | LogPart::kNet, "{}: its slots are in host memory: {}", link,
             refused.message());
  }
  STRAIT_TRY(result.place_on_host(device, access, link));
  return result;
}

Status SlotMemory::place_on_host(const Device& device, int access, const std::string& link) {
  memory_ = pages_of(bytes_);
  if (!memory_)
    return error(Code::kSystemError,
                 "{}: no memory for {} slots of {} bytes; lower STRAIT_SLOTS or STRAIT_SLOT_BYTES",
                 link, slots_, slot_bytes_);
  registration_ = registered(device, memory_.get(), bytes_, access);
  if (registration_) return Status();
  return verbs_error(
      fmt::format("{}: registering {} bytes of slots with {}", link, bytes_, device.name()), errno);
}

Status SlotMemory::place_on_gpu(const Device& device, int access, DeviceSlotSource& source) {
  STRAIT_ASSIGN(DeviceSlots made, source.allocate(bytes_));
  const Calls& calls = device.calls();
  if (made.dma_buf && calls.reg_dmabuf_mr != nullptr)
    registration_ = own(calls.reg_dmabuf_mr(device.domain(), 0, made.bytes,
                                            reinterpret_cast<uint64_t>(made.memory.get()),
                                            made.dma_buf.get(), access),
                        calls.dereg_mr);
  if (!registration_) registration_ = registered(device, made.memory.get(), made.bytes, access);
  if (!registration_)
    return verbs_error(
        fmt::format("{} reaches no memory of the GPU, neither as a DMA-BUF nor by nvidia-peermem",
                    device.name()),
        errno);
  const size_t head_bytes = rounded(slots_ * sizeof(SlotHead), kPageBytes);
  const std::shared_ptr<std::byte> heads = pages_of(head_bytes);
  if (!heads) return error(Code::kSystemError, "no memory for the heads of {} slots", slots_);
  heads_registration_ = registered(device, heads.get(), head_bytes, 0);
  if (!heads_registration_)
    return verbs_error(fmt::format("registering heads with {}", device.name()), errno);
  heads_ = {heads, new (heads.get()) SlotHead[slots_]};
  memory_ = std::move(made.memory);
  bytes_ = made.bytes;
  on_gpu_ = true;
  return Status();
}

Owned<ibv_mr> SlotMemory::registered(const Device& device, void* memory, size_t bytes,
                                     int access) const {
  return own((device.calls().reg_mr)(device.domain(), memory, bytes, access),
             device.calls().dereg_mr);
}

SlotPlaces SlotMemory::places(uint64_t next) const {
  const auto owner =
      std::make_shared<std::pair<std::shared_ptr<std::byte>, std::shared_ptr<SlotHead>>>(memory_,
                                                                                         heads_);
  return {.owner = owner,
          .memory = {memory_.get(), bytes_},
          .first = memory_.get(),
          .stride = stride_,
          .slots = slots_,
          .next = next,
          .on_gpu = on_gpu_,
          .heads = heads_.get()};
}

}  // namespace strait::verbs
