// Whose turn it is.
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "simt/block.hpp"
#include "simt/crew.hpp"

namespace strait::simt {
namespace {

// A warp that always has somebody ready still makes room for the others after so many turns.
constexpr uint32_t kTurns = 1024;
// Rounds of polls without news, before the processor goes to another OS thread.
constexpr uint32_t kQuietRounds = 4;
// First it only yields, then it sleeps, longer and longer.
constexpr uint32_t kYields = 16;
constexpr uint32_t kLongestNapUs = 100;

}  // namespace

void Block::leave() {
  busy_ = true;
  leave_for(home_);
}

void Block::end_thread() {
  const ThreadPlace& place = running_->place;
  Warp& warp = warps_[place.warp];
  const uint32_t bit = 1u << place.lane;
  for (uint32_t left = warp.waiting; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    if ((warp.mask[lane] & bit) == 0) continue;
    fail(
        fmt::format("returned while lane {} waits for it in {} (mask {:#010x}); each lane of the "
                    "mask must come",
                    lane, name_of(static_cast<WarpOp>(warp.op[lane])), warp.mask[lane]));
  }
  if (barriers_[0].arrived != 0 && barriers_[0].threads == threads_.size()) {
    fail(
        fmt::format("returned while {} threads wait at __syncthreads; each thread of the block "
                    "must come",
                    barriers_[0].arrived));
  }
  warp.ended |= bit;
  ++ended_;
  progress();
  Thread* to = next();
  if (to == nullptr) leave();
  switch_to(to);
  leave_for(to->context);
}

Block::Thread* Block::take_some(uint32_t warp) {
  warp_ = warp;
  const uint32_t ready = warps_[warp].ready;
  const uint32_t from = random_ == 0 ? 0 : draw() % Warp::kLanes;
  const uint32_t later = ready & ~0u << from;
  return take(static_cast<uint32_t>(std::countr_zero(later != 0 ? later : ready)));
}

Block::Thread* Block::next_of_other_warps() {
  if (crew_.stopped()) return nullptr;
  const auto count = static_cast<uint32_t>(warps_.size());
  // A drawn order stays with its warp for some turns too, so that warps get ahead of each other.
  if (random_ != 0 && warps_[warp_].ready != 0 && draw() % 16 != 0) return take_some(warp_);
  turns_ = random_ == 0 ? kTurns : 0;
  uint32_t at = random_ == 0 ? warp_ : draw() % count;
  for (uint32_t tried = 0; tried < count; ++tried) {
    at = at + 1 < count ? at + 1 : 0;
    Warp& warp = warps_[at];
    warp.ready |= std::exchange(warp.spinning, 0);
    if (warp.ready != 0) return take_some(at);
  }
  if (ended_ < threads_.size()) {
    busy_ = true;
    crew_.fail(Status(Code::kCudaError, deadlock()));
  }
  return nullptr;
}

void Block::nothing_new() {
  const auto live = static_cast<uint32_t>(threads_.size()) - ended_;
  if (++quiet_ <= kQuietRounds * live) return;
  quiet_ -= std::min(quiet_, live);
  rest();
}

void Block::rest() {
  busy_ = true;
  if (crew_.another_carrier()) {
    rests_ = 0;
  } else if (++rests_ <= kYields) {
    sched_yield();
  } else {
    const timespec nap{0, 1000 * std::min(rests_, kLongestNapUs)};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, nullptr);
  }
  busy_ = false;
}

uint32_t Block::draw() {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  return static_cast<uint32_t>(random_ >> 32);
}

}  // namespace strait::simt
