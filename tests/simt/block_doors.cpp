// What a kernel's builtins come to: warp operations, barriers, polls.
#include <time.h>

#include <bit>

#include "simt/block.hpp"

namespace strait::simt {

uint64_t Block::warp_op(WarpOp op, uint32_t mask, uint64_t value, uint32_t argument) {
  check_stack();
  Thread& me = *running_;
  Warp& warp = warps_[me.place.warp];
  const uint32_t lane = me.place.lane, bit = 1u << lane;
  const uint32_t wanted = mask & warp.present;
  if ((mask & bit) == 0 || (wanted & warp.ended) != 0) [[unlikely]]
    bad_mask(op, mask);
  me.polling = false;
  warp.op[lane] = static_cast<uint32_t>(op);
  warp.mask[lane] = mask;
  warp.argument[lane] = argument;
  warp.value[lane] = value;
  warp.waiting |= bit;
  if ((warp.waiting & wanted) != wanted) {
    switch_away();
    return warp.result[lane];
  }
  if (!agree(warp, op, mask)) [[unlikely]]
    disagree(op, mask);
  complete(warp, op, wanted);
  warp.waiting &= ~wanted;
  warp.ready |= wanted & ~bit;
  // Who is alone in its mask must let others run now and then too.
  if (turns_ == 0) {
    warp.ready |= bit;
    switch_away();
  } else if (wanted == bit) {
    --turns_;
  }
  return warp.result[lane];
}

Block::Barrier& Block::come_to(uint32_t id, uint32_t threads) {
  check_stack();
  if (id >= kBarriers || threads == 0 || threads > threads_.size() ||
      (threads % Warp::kLanes != 0 && threads != threads_.size())) {
    fail(
        fmt::format("came to barrier {} of {} threads; there are barriers 0 to 15, of whole warps "
                    "of the block's {} threads",
                    id, threads, threads_.size()));
  }
  Barrier& barrier = barriers_[id];
  if (barrier.arrived != 0 && barrier.threads != threads) {
    fail(fmt::format("came to {} of {} threads, where others wait for {}", barrier_name(id),
                     threads, barrier.threads));
  }
  running_->polling = false;
  barrier.threads = threads;
  ++barrier.arrived;
  return barrier;
}

void Block::open(Barrier& barrier, BarrierVote vote) {
  barrier.result = vote == BarrierVote::kAnd  ? barrier.ayes == barrier.threads
                   : vote == BarrierVote::kOr ? barrier.ayes != 0
                                              : barrier.ayes;
  barrier.arrived = barrier.ayes = 0;
  for (size_t warp = 0; warp < warps_.size(); ++warp) {
    warps_[warp].ready |= barrier.waiting[warp];
    barrier.waiting[warp] = 0;
  }
}

uint32_t Block::barrier(uint32_t id, uint32_t threads, BarrierVote vote, bool predicate) {
  const bool of_all = threads == 0;
  if (of_all && ended_ != 0) {
    fail(
        fmt::format("came to __syncthreads after {} threads of its block had returned; each "
                    "thread must come",
                    ended_));
  }
  Barrier& barrier = come_to(id, of_all ? static_cast<uint32_t>(threads_.size()) : threads);
  barrier.ayes += predicate;
  if (barrier.arrived == barrier.threads) {
    open(barrier, vote);
    return barrier.result;
  }
  const ThreadPlace& place = running_->place;
  barrier.waiting[place.warp] |= 1u << place.lane;
  switch_away();
  return barrier.result;
}

void Block::barrier_arrive(uint32_t id, uint32_t threads) {
  Barrier& barrier = come_to(id, threads);
  if (barrier.arrived == barrier.threads) open(barrier, BarrierVote::kNone);
}

void Block::pause() {
  const ThreadPlace& place = running_->place;
  running_->polling = true;
  nothing_new();
  warps_[place.warp].spinning |= 1u << place.lane;
  switch_away();
}

void Block::poll_begin() {
  Thread& me = *running_;
  // Even who sees something new each time lets the others run now and then.
  if (!me.stale && ++me.polls % 64 != 0) return;
  me.polling = true;
  warps_[me.place.warp].spinning |= 1u << me.place.lane;
  switch_away();
}

void Block::poll_end(uint64_t what) {
  Thread& me = *running_;
  me.stale = false;
  for (const uint64_t seen : me.recent) me.stale |= seen == what;
  if (me.stale) {
    nothing_new();
    return;
  }
  me.recent[me.recent_next] = what;
  me.recent_next = (me.recent_next + 1) % kRecent;
  me.polling = false;
  progress();
}

// Outside of a launch each of these finds a block of one thread, and nobody to wait for.

namespace {
[[gnu::cold, gnu::noinline]] uint64_t alone(WarpOp op, uint64_t value, uint32_t argument) {
  Warp warp;
  warp.value[0] = value;
  warp.argument[0] = argument;
  complete(warp, op, 1);
  return warp.result[0];
}
}  // namespace

uint64_t warp_op(WarpOp op, uint32_t mask, uint64_t value, uint32_t argument) {
  Block* block = Block::current();
  if (block == nullptr) [[unlikely]]
    return alone(op, value, argument);
  return block->warp_op(op, mask, value, argument);
}

uint32_t barrier(uint32_t id, uint32_t threads, BarrierVote vote, bool predicate) {
  Block* block = Block::current();
  return block == nullptr ? predicate : block->barrier(id, threads, vote, predicate);
}

void barrier_arrive(uint32_t id, uint32_t threads) {
  if (Block* block = Block::current()) block->barrier_arrive(id, threads);
}

void poll_begin() {
  if (Block* block = Block::current()) block->poll_begin();
}

void poll_end(const void* address, uint64_t seen) {
  Block* block = Block::current();
  // One number for place and value; never 0, which stands for nothing seen yet.
  const uint64_t what = (reinterpret_cast<uintptr_t>(address) ^ seen * 0x9e3779b97f4a7c15) | 1;
  if (block != nullptr) block->poll_end(what);
}

void progress() {
  if (Block* block = Block::current()) block->progress();
}

void pause() {
  if (Block* block = Block::current()) block->pause();
}

uint64_t read_clock() {
  pause();
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

void trap() {
  if (Block* block = Block::current()) block->fail("stopped at __trap");
  __builtin_trap();
}

}  // namespace strait::simt
