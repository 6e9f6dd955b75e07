#include "base/cuda/physical_memory.hpp"

namespace strait::cuda {
namespace {

AllocationProperties properties_of(int device, const PhysicalMemory::Wish& wish) {
  AllocationProperties properties{};
  properties.type = kAllocationPinned;
  properties.location = {kLocationDevice, device};
  properties.requested_handles =
      static_cast<HandleType>((wish.file_descriptor ? kHandleFileDescriptor : kHandleNone) |
                              (wish.fabric ? kHandleFabric : kHandleNone));
  properties.rdma_capable = wish.rdma ? 1 : 0;
  return properties;
}

std::string kinds_of(const PhysicalMemory::Wish& wish) {
  std::string kinds = wish.file_descriptor ? " by file descriptor" : "";
  if (wish.fabric) kinds += kinds.empty() ? " by fabric handle" : " and fabric handle";
  return kinds.empty() ? "" : ", shared" + kinds;
}

}  // namespace

PhysicalMemory::PhysicalMemory(const Driver& driver, ContextHandle context, AllocationHandle handle,
                               size_t bytes)
    : memory_(driver, context, handle,
              [](const Driver& owner, AllocationHandle mine) {
                report_release("cuMemRelease", owner.cuMemRelease.code(mine));
              }),
      bytes_(bytes) {}

Result<PhysicalMemory> PhysicalMemory::create(const Driver& driver, ContextHandle context,
                                              int device, const Wish& wish) {
  STRAIT_ASSIGN(const ContextScope scope, ContextScope::enter(driver, context));
  const AllocationProperties properties = properties_of(device, wish);
  const std::string place =
      fmt::format("{} bytes of cuda:{}{}", wish.bytes, device, kinds_of(wish));
  size_t step = 0;
  STRAIT_TRY(
      driver.cuMemGetAllocationGranularity(&step, &properties, kGranularityRecommended).at(place));
  const size_t bytes = (wish.bytes + step - 1) / step * step;
  AllocationHandle handle = 0;
  STRAIT_TRY(driver.cuMemCreate(&handle, bytes, &properties, 0).at(place));
  return PhysicalMemory(driver, context, handle, bytes);
}

Result<PhysicalMemory> PhysicalMemory::import_from(const Driver& driver, ContextHandle context,
                                                   const UniqueFd& fd, size_t bytes) {
  STRAIT_ASSIGN(const ContextScope scope, ContextScope::enter(driver, context));
  AllocationHandle handle = 0;
  // The driver takes the descriptor's number in place of a pointer.
  void* const number = reinterpret_cast<void*>(static_cast<intptr_t>(fd.get()));
  STRAIT_TRY(driver.cuMemImportFromShareableHandle(&handle, number, kHandleFileDescriptor)
                 .at("a peer's memory by file descriptor"));
  return PhysicalMemory(driver, context, handle, bytes);
}

Result<PhysicalMemory> PhysicalMemory::import_from(const Driver& driver, ContextHandle context,
                                                   const FabricHandle& fabric, size_t bytes) {
  STRAIT_ASSIGN(const ContextScope scope, ContextScope::enter(driver, context));
  AllocationHandle handle = 0;
  FabricHandle copy = fabric;
  STRAIT_TRY(driver.cuMemImportFromShareableHandle(&handle, &copy, kHandleFabric)
                 .at("a peer's memory by fabric handle"));
  return PhysicalMemory(driver, context, handle, bytes);
}

Result<PhysicalMemory> PhysicalMemory::behind(const Driver& driver, ContextHandle context,
                                              const void* pointer, size_t bytes) {
  STRAIT_ASSIGN(const ContextScope scope, ContextScope::enter(driver, context));
  AllocationHandle handle = 0;
  STRAIT_TRY(driver.cuMemRetainAllocationHandle(&handle, const_cast<void*>(pointer))
                 .at("the allocation behind a buffer"));
  return PhysicalMemory(driver, context, handle, bytes);
}

Result<UniqueFd> PhysicalMemory::export_fd() const {
  STRAIT_ASSIGN(const ContextScope scope, ContextScope::enter(driver(), context()));
  int fd = -1;
  STRAIT_TRY(driver().cuMemExportToShareableHandle(&fd, get(), kHandleFileDescriptor, 0));
  return UniqueFd(fd);
}

Result<FabricHandle> PhysicalMemory::export_fabric() const {
  STRAIT_ASSIGN(const ContextScope scope, ContextScope::enter(driver(), context()));
  FabricHandle handle{};
  STRAIT_TRY(driver().cuMemExportToShareableHandle(&handle, get(), kHandleFabric, 0));
  return handle;
}

PhysicalMemory::Wish shareable(const Driver& driver, ContextHandle context,
                               const DeviceFacts& facts) {
  return {.file_descriptor = facts.file_descriptors,
          .fabric = facts.fabric_handles && try_fabric(driver, context, facts.ordinal).ok()};
}

Status try_fabric(const Driver& driver, ContextHandle context, int device) {
  const Result<PhysicalMemory> memory =
      PhysicalMemory::create(driver, context, device, {.bytes = 1, .fabric = true});
  if (!memory.ok()) return memory.status();
  return memory->export_fabric().status();
}

}  // namespace strait::cuda
