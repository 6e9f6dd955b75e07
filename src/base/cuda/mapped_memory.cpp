#include "base/cuda/mapped_memory.hpp"

#include <vector>

namespace strait::cuda {

void MappedMemory::unmap(const Driver& driver, Range range) {
  report_release("cuMemUnmap", driver.cuMemUnmap.code(range.pointer, range.bytes));
}

void MappedMemory::free_address(const Driver& driver, Range range) {
  report_release("cuMemAddressFree", driver.cuMemAddressFree.code(range.pointer, range.bytes));
}

Result<MappedMemory> MappedMemory::map(PhysicalMemory memory, std::span<const int> devices) {
  const Driver& driver = memory.driver();
  const ContextHandle context = memory.context();
  STRAIT_ASSIGN(const ContextScope scope, ContextScope::enter(driver, context));
  MappedMemory mapped;
  mapped.physical_ = std::move(memory);
  Range range{0, mapped.physical_.bytes()};
  const std::string place = fmt::format("an address for {} bytes of device memory", range.bytes);
  STRAIT_TRY(driver.cuMemAddressReserve(&range.pointer, range.bytes, 0, 0, 0).at(place));
  mapped.address_ = {driver, context, range, free_address};
  STRAIT_TRY(driver.cuMemMap(range.pointer, range.bytes, 0, mapped.physical_.get(), 0).at(place));
  mapped.mapped_ = {driver, context, range, unmap};
  std::vector<AccessDescription> access;
  for (const int device : devices) access.push_back({{kLocationDevice, device}, kAccessReadWrite});
  STRAIT_TRY(
      driver.cuMemSetAccess(range.pointer, range.bytes, access.data(), access.size()).at(place));
  return mapped;
}

}  // namespace strait::cuda
