// What the threads of a block are doing, in words.
#include <bit>

#include "simt/block.hpp"
#include "simt/crew.hpp"

namespace strait::simt {
namespace {

constexpr size_t kGroupsShown = 4;

std::string place_text(const uint3& index) {
  return fmt::format("({},{},{})", index.x, index.y, index.z);
}

}  // namespace

std::string Block::thread_name(const Thread& thread) const {
  return fmt::format("block {}, thread {}", place_text(block_place.index),
                     place_text(thread.place.index));
}

std::string Block::barrier_name(uint32_t id) const {
  const bool of_all = id == 0 && barriers_[0].threads == threads_.size();
  return of_all ? "__syncthreads" : fmt::format("named barrier {}", id);
}

std::string Block::state_of(const Thread& thread) const {
  const Warp& warp = warps_[thread.place.warp];
  const uint32_t lane = thread.place.lane, bit = 1u << lane;
  if ((warp.ended & bit) != 0) return "has returned";
  if ((warp.waiting & bit) != 0) {
    return fmt::format("waits in {} (mask {:#010x})", name_of(static_cast<WarpOp>(warp.op[lane])),
                       warp.mask[lane]);
  }
  for (uint32_t id = 0; id < kBarriers; ++id) {
    if ((barriers_[id].waiting[thread.place.warp] & bit) == 0) continue;
    return fmt::format("waits at {} ({} of {} have come)", barrier_name(id), barriers_[id].arrived,
                       barriers_[id].threads);
  }
  if (thread.polling) return "polls memory or the clock";
  return &thread == running_ ? "runs, and comes to no operation" : "has its turn later";
}

// Threads in a row that do the same are told together.
std::string Block::describe() const {
  std::string text;
  size_t groups = 0;
  for (size_t first = 0, end = 0; first < threads_.size(); first = end) {
    const std::string state = state_of(threads_[first]);
    for (end = first + 1; end < threads_.size() && state_of(threads_[end]) == state; ++end) {
    }
    if (++groups > kGroupsShown) {
      return text + fmt::format(", and {} threads more", threads_.size() - first);
    }
    const std::string who = end - first == 1 ? fmt::format("thread {}", first)
                                             : fmt::format("each of threads {}-{}", first, end - 1);
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", who, state);
  }
  return text;
}

// There is no room here for a message; run() makes it on its own stack.
void Block::stack_is_full(const unsigned char* here) {
  const Context& context = running_->context;
  stack_used_ = static_cast<size_t>(context.bottom + context.bytes - here);
  leave();
}

void Block::bad_mask(WarpOp op, uint32_t mask) {
  const ThreadPlace& place = running_->place;
  const uint32_t gone = mask & warps_[place.warp].ended;
  if ((mask >> place.lane & 1) == 0) {
    fail(fmt::format("is lane {}, and not in the mask {:#010x} of its {}", place.lane, mask,
                     name_of(op)));
  }
  fail(fmt::format("{} (mask {:#010x}) names lane {}, which has returned", name_of(op), mask,
                   std::countr_zero(gone)));
}

void Block::disagree(WarpOp op, uint32_t mask) {
  const Warp& warp = warps_[running_->place.warp];
  int lane = 0;
  while ((mask >> lane & 1) == 0 ||
         (warp.op[lane] == static_cast<uint32_t>(op) && warp.mask[lane] == mask))
    ++lane;
  fail(fmt::format(
      "came to {} (mask {:#010x}), which names lane {}, and that lane waits in {} "
      "(mask {:#010x}); all lanes of a mask must come to the same operation",
      name_of(op), mask, lane, name_of(static_cast<WarpOp>(warp.op[lane])), warp.mask[lane]));
}

// Nobody can go on: who waits for whom? A lane that waits for another is the nearest to the cause.
std::string Block::deadlock() const {
  const std::string& kernel = crew_.launch().name;
  for (uint32_t at = 0; at < warps_.size(); ++at) {
    const Warp& warp = warps_[at];
    if (warp.waiting == 0) continue;
    const auto lane = static_cast<uint32_t>(std::countr_zero(warp.waiting));
    const auto op = static_cast<WarpOp>(warp.op[lane]);
    const uint32_t absent = warp.mask[lane] & warp.present & ~warp.waiting;
    const uint32_t other = absent != 0 ? std::countr_zero(absent) : lane;
    return fmt::format(
        "{}: {}: {} (mask {:#010x}) waits for lane {}, which {}; each lane of the "
        "mask must come",
        kernel, thread_name(thread_at(at, lane)), name_of(op), warp.mask[lane], other,
        state_of(thread_at(at, other)));
  }
  return fmt::format(
      "{}: block {}: no thread can go on: {}; each thread that a barrier counts must "
      "come",
      kernel, place_text(block_place.index), describe());
}

}  // namespace strait::simt
