#include "standin/ranges.hpp"

#include <sys/mman.h>

#include <vector>

#include "base/check.hpp"
#include "standin/guard.hpp"
#include "standin/machine.hpp"

namespace strait::standin {

Range& Ranges::add(Range range) {
  range.id = machine().next_id++;
  // Memory that was mapped only counts once cuMemSetAccess gives access.
  if (range.backing != nullptr && range.kind != RangeKind::kMapped)
    guard().add(reinterpret_cast<void*>(range.base), range.bytes);
  return ranges_[range.base] = std::move(range);
}

Range* Ranges::find(DevicePointer address) {
  auto at = ranges_.upper_bound(address);
  if (at == ranges_.begin()) return nullptr;
  --at;
  return address - at->second.base < at->second.bytes ? &at->second : nullptr;
}

bool Ranges::overlaps(DevicePointer address, size_t bytes) const {
  const auto after = ranges_.lower_bound(address + bytes);
  if (after == ranges_.begin()) return false;
  const Range& before = std::prev(after)->second;
  return before.base + before.bytes > address;
}

bool Ranges::remove(DevicePointer base) {
  const auto at = ranges_.find(base);
  if (at == ranges_.end()) return false;
  const Range& range = at->second;
  void* const address = reinterpret_cast<void*>(base);
  guard().remove(address);
  // The address of mapped memory stays reserved; registered memory is the program's.
  if (range.kind == RangeKind::kMapped)
    hide(address, range.bytes);
  else if (range.kind != RangeKind::kRegistered)
    STRAIT_CHECK(munmap(address, range.bytes) == 0, "what was mapped can be unmapped");
  ranges_.erase(at);
  return true;
}

void Ranges::remove_all_of(const Context* context) {
  std::vector<DevicePointer> theirs;
  for (const auto& [base, range] : ranges_)
    if (range.context == context) theirs.push_back(base);
  for (const DevicePointer base : theirs) remove(base);
}

}  // namespace strait::standin
