#include "transport/throttle/rate_bucket.hpp"

#include <algorithm>
#include <new>

#include "base/clock.hpp"

namespace strait {
namespace {

constexpr uint64_t kMagic = 0x53545241'49545242;
constexpr int64_t kBurstNs = 200'000;

}  // namespace

Result<std::shared_ptr<RateBucket>> RateBucket::create(int64_t bytes_per_second) {
  if (bytes_per_second <= 0)
    return error(Code::kInvalidArgument, "a link rate of {} bytes per second lets nothing through",
                 bytes_per_second);
  STRAIT_ASSIGN(auto memory, SharedMemory::create("link rate", sizeof(Page)));
  Page* page = new (memory.data()) Page{};
  page->magic = kMagic;
  page->bytes_per_second = bytes_per_second;
  return std::shared_ptr<RateBucket>(new RateBucket(std::move(memory)));
}

Result<std::shared_ptr<RateBucket>> RateBucket::map(UniqueFd fd) {
  STRAIT_ASSIGN(auto memory, SharedMemory::map(std::move(fd), sizeof(Page)));
  std::shared_ptr<RateBucket> bucket(new RateBucket(std::move(memory)));
  if (bucket->page_->magic != kMagic || bucket->page_->bytes_per_second <= 0)
    return error(Code::kRemoteError,
                 "the shared link rate is not one of this version; do all ranks run the same?");
  return bucket;
}

int64_t RateBucket::reserve(size_t bytes) {
  const double seconds = static_cast<double>(bytes) / static_cast<double>(page_->bytes_per_second);
  const auto took_ns = static_cast<int64_t>(seconds * 1e9);
  const int64_t earliest_ns = now_ns() - kBurstNs;
  int64_t free_ns = page_->free_ns.load(std::memory_order_relaxed);
  int64_t left_ns = 0;
  do {
    left_ns = std::max(free_ns, earliest_ns) + took_ns;
  } while (!page_->free_ns.compare_exchange_weak(free_ns, left_ns, std::memory_order_relaxed));
  return left_ns;
}

}  // namespace strait
