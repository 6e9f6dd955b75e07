#include "base/segments.hpp"

#include <unistd.h>

#include <algorithm>
#include <iterator>

namespace strait {

Segments& Segments::instance() {
  // Never destroyed: programs free from their own static destructors.
  static auto* all = new Segments;
  return *all;
}

std::byte* Segments::add(SharedMemory memory) {
  std::byte* const begin = memory.data();
  std::lock_guard lock(mutex_);
  by_address_.emplace(reinterpret_cast<uintptr_t>(begin),
                      Segment{.memory = std::move(memory), .number = ++last_, .owner = getpid()});
  return begin;
}

bool Segments::remove(void* begin) {
  Segment segment;
  {
    std::lock_guard lock(mutex_);
    auto found = by_address_.extract(reinterpret_cast<uintptr_t>(begin));
    if (found.empty()) return false;
    segment = std::move(found.mapped());
  }
  if (segment.handed_out && segment.owner == getpid()) segment.memory.drop_pages();
  return true;
}

std::optional<SegmentPlace> Segments::find(const void* begin, size_t bytes) const {
  const auto address = reinterpret_cast<uintptr_t>(begin);
  std::lock_guard lock(mutex_);
  auto next = by_address_.upper_bound(address);
  if (next == by_address_.begin()) return std::nullopt;
  const auto& [base, segment] = *std::prev(next);
  const size_t offset = address - base;
  const size_t size = segment.memory.bytes();
  if (offset > size || bytes > size - offset) return std::nullopt;
  return SegmentPlace{.segment = segment.number, .offset = offset};
}

Result<UniqueFd> Segments::descriptor(uint64_t segment) {
  std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(
      by_address_, [&](const auto& entry) { return entry.second.number == segment; });
  if (found == by_address_.end())
    return error(Code::kInvalidUsage,
                 "segment {} was freed while a peer still reads it: free memory when the calls "
                 "that use it are done",
                 segment);
  found->second.handed_out = true;
  return found->second.memory.duplicate_fd();
}

}  // namespace strait
