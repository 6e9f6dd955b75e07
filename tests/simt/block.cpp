#include "simt/block.hpp"

#include <cstring>
#include <utility>

#include "simt/crew.hpp"

namespace strait::simt {
namespace {

constexpr ThreadPlace kNoThread{{0, 0, 0}, 0, 0};

// Around the dynamic shared memory, to tell writes beside it.
constexpr size_t kCanaryBytes = 256;
constexpr size_t kSharedAlignment = 128;
constexpr unsigned char kCanary = 0x5c;
// Fresh shared memory: neither zero nor a small number.
constexpr unsigned char kPoison = 0xcb;

// The stacks of a warp start at different lines of the cache.
size_t skipped_bytes(uint32_t thread) {
  return thread * 9 % 64 * 64;
}

}  // namespace

constinit thread_local const ThreadPlace* thread_place = &kNoThread;
constinit thread_local BlockPlace block_place{{0, 0, 0}, {1, 1, 1}, {1, 1, 1}, nullptr};

Block::Block(Crew& crew) : crew_(crew), body_(crew.body()), home_(own_context()) {
  const Dim3& size = crew.launch().block;
  threads_.resize(size_t{1} * size.x * size.y * size.z);
  warps_.resize((threads_.size() + Warp::kLanes - 1) / Warp::kLanes);
  shared_ = std::make_unique_for_overwrite<unsigned char[]>(crew.launch().shared_bytes +
                                                            2 * kCanaryBytes + kSharedAlignment);
  place_threads();
  current_.block = this;
  static_shared_ = find_static_shared();
}

Block::~Block() {
  for (const StackRow& row : rows_) give_stacks(row);
  current_.block = nullptr;
}

void Block::place_threads() {
  const Dim3& size = crew_.launch().block;
  for (uint32_t at = 0; at < threads_.size(); ++at) {
    threads_[at].place = {{at % size.x, at / size.x % size.y, at / size.x / size.y},
                          at % Warp::kLanes,
                          at / Warp::kLanes};
    warps_[at / Warp::kLanes].present |= 1u << at % Warp::kLanes;
  }
  auto* start = shared_.get() + kCanaryBytes;
  start +=
      (kSharedAlignment - reinterpret_cast<uintptr_t>(start) % kSharedAlignment) % kSharedAlignment;
  block_place = {{0, 0, 0}, size, crew_.launch().grid, start};
}

bool Block::take_all_stacks() {
  while (rows_.size() < warps_.size()) {
    const StackRow row = take_stacks(crew_.options().stack_bytes);
    if (row.base == nullptr) {
      crew_.fail(error(Code::kSystemError,
                       "{}: the system gives no memory for the stacks of {} threads; run fewer "
                       "blocks at once",
                       crew_.launch().name, threads_.size()));
      return false;
    }
    rows_.push_back(row);
  }
  return true;
}

void Block::prepare(uint64_t number) {
  number_ = number;
  block_place.index = block_index(crew_.launch().grid, number);
  for (uint32_t at = 0; at < threads_.size(); ++at) {
    Thread& thread = threads_[at];
    const ThreadPlace place = thread.place;
    thread = Thread{place, {}, {}, 0, 0, false, false};
    const StackRow& row = rows_[place.warp];
    make_context(thread.context, row.stack(place.lane), row.stack_bytes, skipped_bytes(at), entry);
  }
  for (Warp& warp : warps_) {
    warp.ready = warp.present;
    warp.spinning = warp.waiting = warp.ended = 0;
  }
  for (Barrier& barrier : barriers_) barrier = Barrier{};
  std::memset(static_shared_.data, kPoison, static_shared_.bytes);
  const size_t bytes = crew_.launch().shared_bytes;
  std::memset(block_place.dynamic_shared - kCanaryBytes, kCanary, kCanaryBytes);
  std::memset(block_place.dynamic_shared, kPoison, bytes);
  std::memset(block_place.dynamic_shared + bytes, kCanary, kCanaryBytes);
  // The first turn goes to the warp after this one.
  warp_ = static_cast<uint32_t>(warps_.size()) - 1;
  lane_ = turns_ = ended_ = 0;
  running_ = nullptr;
  progress();
  const uint64_t seed = crew_.options().seed;
  random_ = seed == 0 ? 0 : (seed * 0x9e3779b97f4a7c15 ^ (number + 1) * 0xbf58476d1ce4e5b9) | 1;
}

void Block::run(uint64_t number) {
  if (!take_all_stacks()) return;
  prepare(number);
  running_ = next();
  if (running_ != nullptr) {
    thread_place = &running_->place;
    busy_ = false;
    switch_context(home_, running_->context);
    busy_ = true;
  }
  if (stack_used_ != 0) {
    crew_.fail(error(Code::kCudaError, "{}: {}: has used {} bytes of stack; raise stack_bytes",
                     crew_.launch().name, thread_name(*running_), std::exchange(stack_used_, 0)));
  }
  thread_place = &kNoThread;
  check_canaries();
  if (ended_ < threads_.size() && crew_.stopped()) crew_.report(number_, describe());
}

void Block::check_canaries() {
  const size_t bytes = crew_.launch().shared_bytes;
  const unsigned char* before = block_place.dynamic_shared - kCanaryBytes;
  const unsigned char* behind = block_place.dynamic_shared + bytes;
  const uint3 index = block_place.index;
  for (size_t at = 0; at < kCanaryBytes; ++at) {
    const bool is_before = before[kCanaryBytes - 1 - at] != kCanary;
    if (!is_before && behind[at] == kCanary) continue;
    crew_.fail(error(Code::kCudaError,
                     "{}: block ({},{},{}) wrote {} bytes {} its {} bytes of dynamic shared "
                     "memory; ask for more, or look at the index",
                     crew_.launch().name, index.x, index.y, index.z, at + 1,
                     is_before ? "before" : "behind the end of", bytes));
    return;
  }
}

void Block::entry() {
  entered();
  Block& block = *current_.block;
  std::string thrown;
  try {
    block.body_();
  } catch (const std::exception& problem) {
    thrown = fmt::format("threw an exception, which no kernel can: {}", problem.what());
  }
  // Behind the handler, so that the exception is gone.
  if (!thrown.empty()) block.fail(std::move(thrown));
  block.end_thread();
}

void Block::fail(std::string&& what) {
  busy_ = true;
  {
    // Nothing unwinds this stack: what owns memory must be gone before leaving it.
    const std::string text = std::move(what);
    crew_.fail(
        error(Code::kCudaError, "{}: {}: {}", crew_.launch().name, thread_name(*running_), text));
  }
  leave();
}

void Block::interrupted() {
  Block* block = current_.block;
  if (block != nullptr && !block->busy_) block->leave();
}

}  // namespace strait::simt
