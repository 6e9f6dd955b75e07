#include "comm/gpu_slots.hpp"

#include <stdlib.h>

#include <algorithm>
#include <cctype>

#include "base/cuda/context.hpp"
#include "base/cuda/device.hpp"
#include "base/cuda/memory.hpp"
#include "base/cuda/rdma.hpp"
#include "base/log.hpp"

namespace strait {
namespace {

// The GPU's own pages, as drivers of NICs map them.
constexpr size_t kPageBytes = 64 << 10;

std::string place_of(std::string bus_id) {
  std::ranges::transform(bus_id, bus_id.begin(), [](unsigned char c) { return std::tolower(c); });
  const std::unique_ptr<char, void (*)(void*)> path(
      realpath(("/sys/bus/pci/devices/" + bus_id).c_str(), nullptr), free);
  return path ? path.get() : "";
}

class GpuSlots final : public DeviceSlotSource, public std::enable_shared_from_this<GpuSlots> {
 public:
  GpuSlots(const cuda::Driver& driver, cuda::PrimaryContext context, const cuda::DeviceFacts& facts,
           bool dma_buf)
      : driver_(driver),
        context_(std::move(context)),
        place_(place_of(facts.pci_bus_id)),
        needs_flush_(!facts.rdma_writes_ordered),
        dma_buf_(dma_buf && facts.dma_buf) {}

  Result<DeviceSlots> allocate(size_t bytes) override {
    bytes = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
    // The driver aligns less; a page that holds something else must not be shown to a NIC.
    STRAIT_ASSIGN(cuda::DeviceMemory memory,
                  cuda::DeviceMemory::allocate(driver_, context_.get(), bytes + kPageBytes,
                                               "slots of a link"));
    STRAIT_TRY(cuda::order_copies_with_nic(driver_, memory.pointer()));
    const auto kept = std::make_shared<Kept>(Kept{shared_from_this(), std::move(memory)});
    const cuda::DevicePointer first =
        (kept->memory.pointer() + kPageBytes - 1) / kPageBytes * kPageBytes;
    DeviceSlots slots{.memory = {kept, reinterpret_cast<std::byte*>(first)},
                      .bytes = bytes,
                      .dma_buf = UniqueFd()};
    if (dma_buf_) {
      auto exported = cuda::export_dma_buf(driver_, context_.get(), first, bytes);
      if (exported.ok()) slots.dma_buf = std::move(*exported);
    }
    return slots;
  }

  std::string place() const override { return place_; }
  bool needs_flush() const override { return needs_flush_; }

 private:
  struct Kept {
    std::shared_ptr<const GpuSlots> source;  // its context goes last
    cuda::DeviceMemory memory;
  };

  const cuda::Driver& driver_;
  const cuda::PrimaryContext context_;
  const std::string place_;
  const bool needs_flush_;
  const bool dma_buf_;
};

}  // namespace

Result<std::shared_ptr<DeviceSlotSource>> gpu_slots(int ordinal, const Config& config) {
  const auto none = [&](const std::string& why) {
    log_info(LogPart::kInit | LogPart::kNet, "GPU {}: NICs reach no memory of it: {}", ordinal,
             why);
    return std::shared_ptr<DeviceSlotSource>();
  };
  if (config.gdr_level == "LOC") return none("STRAIT_NET_GDR_LEVEL is LOC");
  // A payload's checksum is made by the processor, which does not see it there.
  if (config.checksum == "on") return none("STRAIT_CHECKSUM is on");
  STRAIT_ASSIGN(const cuda::Driver* const driver, cuda::driver());
  STRAIT_ASSIGN(const cuda::DeviceFacts facts, cuda::device_facts(*driver, ordinal));
  if (!facts.rdma && !facts.dma_buf) return none("its driver has no GPUDirect RDMA");
  STRAIT_ASSIGN(cuda::PrimaryContext context, cuda::PrimaryContext::retain(*driver, ordinal));
  return std::shared_ptr<DeviceSlotSource>(
      std::make_shared<GpuSlots>(*driver, std::move(context), facts, config.dmabuf_enable != 0));
}

}  // namespace strait
