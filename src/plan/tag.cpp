#include "plan/tag.hpp"

#include <fmt/format.h>

namespace strait {
namespace {

constexpr uint32_t kPointToPoint = 15;  // in the bits of the collective
constexpr int kTypeShift = 4;
constexpr int kReduceShift = 8;
constexpr int kCallShift = 11;
constexpr int kHashShift = 21;
constexpr uint32_t kCallMask = 0x3ff;
// Of send and receive, behind the bits of the collective: the bytes, or a hash of many.
constexpr int kBytesShift = 4;
constexpr uint64_t kBytesHashed = uint64_t{1} << 27;

uint32_t hash_of(const Request& request) {
  const Limits& limits = request.limits;
  uint64_t mixed = (request.count + 1) * 0x9e3779b97f4a7c15u ^ static_cast<uint64_t>(request.root)
                                                                   << 32;
  if (limits != Limits{})
    mixed ^=
        (uint64_t{limits.algorithms.bits} << 16 | static_cast<uint64_t>(limits.lanes_min) << 8 |
         static_cast<uint64_t>(limits.lanes_max)) *
        0xd6e8feb86659fd93u;
  return static_cast<uint32_t>((mixed * 0xbf58476d1ce4e5b9u) >> 53);  // 11 bits
}

uint32_t tag_of_message(const Request& request) {
  const uint64_t bytes = request.count * size_of(request.type);
  const uint64_t told =
      bytes < kBytesHashed ? bytes : kBytesHashed | (bytes * 0x9e3779b97f4a7c15u) >> 37;
  return kPointToPoint | static_cast<uint32_t>(told) << kBytesShift;
}

}  // namespace

uint32_t tag_of(const Request& request, uint64_t call) {
  if (is_point_to_point(request.collective)) return tag_of_message(request);
  const uint32_t reduce = reduces(request.collective) ? static_cast<uint32_t>(request.reduce) : 0;
  return static_cast<uint32_t>(request.collective) |
         static_cast<uint32_t>(request.type) << kTypeShift | reduce << kReduceShift |
         (static_cast<uint32_t>(call) & kCallMask) << kCallShift | hash_of(request) << kHashShift;
}

std::optional<DataType> type_in_tag(uint32_t tag) {
  const uint32_t type = tag >> kTypeShift & 15;
  if ((tag & 15) == kPointToPoint || type >= kDataTypeCount) return std::nullopt;
  return static_cast<DataType>(type);
}

std::string describe_tag(uint32_t tag) {
  const uint32_t collective = tag & 15;
  if (collective == kPointToPoint) {
    const uint32_t bytes = tag >> kBytesShift;
    return bytes < kBytesHashed ? fmt::format("send/receive of {} bytes", bytes)
                                : "send/receive of another size";
  }
  const uint32_t type = tag >> kTypeShift & 15;
  const uint32_t reduce = tag >> kReduceShift & 7;
  if (collective >= kCollectiveCount || type >= kDataTypeCount || reduce >= kReduceKindCount)
    return fmt::format("an unknown call (tag {:08x})", tag);
  const auto kind = static_cast<Collective>(collective);
  std::string text = fmt::format("{} {}", name_of(kind), name_of(static_cast<DataType>(type)));
  if (reduces(kind)) text += fmt::format(" {}", name_of(static_cast<ReduceKind>(reduce)));
  return text + fmt::format(" (call {})", tag >> kCallShift & kCallMask);
}

std::string describe(const Request& request, uint64_t call) {
  std::string text =
      fmt::format("{} of {} {}", name_of(request.collective), request.count, name_of(request.type));
  if (is_point_to_point(request.collective))
    return text + fmt::format(" with rank {}", request.root);
  if (reduces(request.collective)) text += fmt::format(" {}", name_of(request.reduce));
  return text + fmt::format(" (call {})", call);
}

}  // namespace strait
