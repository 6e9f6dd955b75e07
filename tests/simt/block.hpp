// A block of threads on one OS thread: a fibre for each thread of the kernel, and the order in
// which they take turns. Made by a carrier, which runs one block after another in it; all calls
// come from that OS thread, most of them from the fibres. Starting a block costs some 50 ns per
// thread.
//
// A fibre runs until it must wait. Then the next lane of its warp that can go on is next, and
// another warp only when this one has nobody left, or has had many turns: 32 stacks stay in the
// nearest cache. Who only polls memory is next when all others have had their turn.
#pragma once

#include <bit>
#include <memory>
#include <string>
#include <vector>

#include "simt/context.hpp"
#include "simt/here.hpp"
#include "simt/sanitizer.hpp"
#include "simt/simt.hpp"
#include "simt/stacks.hpp"
#include "simt/static_shared.hpp"
#include "simt/warp.hpp"

namespace strait::simt {

class Crew;

class Block {
 public:
  explicit Block(Crew& crew);
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  // Returns when all its threads have ended, or the launch is stopped.
  void run(uint64_t number);

  // The block that the calling OS thread carries, or null.
  static Block* current() { return current_.block; }
  // From a signal handler: drops the block, unless the layer itself is at work.
  static void interrupted();

  // What the running fibre asks for (here.hpp).
  uint64_t warp_op(WarpOp op, uint32_t mask, uint64_t value, uint32_t argument);
  uint32_t barrier(uint32_t id, uint32_t threads, BarrierVote vote, bool predicate);
  void barrier_arrive(uint32_t id, uint32_t threads);
  void poll_begin();
  void poll_end(uint64_t what);
  void pause();
  void progress() {
    quiet_ = 0;
    rests_ = 0;
  }
  // Ends the launch with "<kernel>: block, thread: <what>".
  [[noreturn]] void fail(std::string&& what);

 private:
  static constexpr uint32_t kBarriers = 16;
  static constexpr uint32_t kRecent = 4;
  // The guard page, and room for what the layer does at its door; the address sanitizer takes more.
#if STRAIT_SIMT_ASAN
  static constexpr size_t kStackReserve = 28 << 10;
#else
  static constexpr size_t kStackReserve = 6 << 10;
#endif

  struct Thread {
    ThreadPlace place;
    Context context;
    // What it last saw in memory: who sees the same again has nothing to do.
    uint64_t recent[kRecent] = {};
    uint32_t recent_next = 0;
    uint32_t polls = 0;
    bool stale = false;
    bool polling = false;  // for messages
  };

  struct Barrier {
    uint32_t threads = 0;
    uint32_t arrived = 0;
    uint32_t ayes = 0;
    uint32_t result = 0;
    uint32_t waiting[Warp::kLanes] = {};  // lanes, by warp
  };

  static void entry();
  void prepare(uint64_t number);
  bool take_all_stacks();
  void place_threads();
  void check_canaries();

  // At the door: a stack that overflows between two operations meets its guard page.
  void check_stack() {
    const auto* here = static_cast<unsigned char*>(__builtin_frame_address(0));
    if (here < running_->context.bottom + kStackReserve) [[unlikely]]
      stack_is_full(here);
  }
  // The running fibre waits; returns when it is its turn again.
  void switch_away() {
    Thread* from = running_;
    Thread* to = next();
    if (to == from) return;
    if (to == nullptr) [[unlikely]]
      leave();
    switch_to(to);
    switch_context(from->context, to->context);
  }
  void switch_to(Thread* to) {
    running_ = to;
    thread_place = &to->place;
  }
  // Whose turn it is; null when nobody's is: all have ended, or the launch is stopped.
  Thread* next() {
    Warp& warp = warps_[warp_];
    if (warp.ready == 0 || turns_ == 0) return next_of_other_warps();
    --turns_;
    const uint32_t later = warp.ready & ~1u << lane_;
    return take(static_cast<uint32_t>(std::countr_zero(later != 0 ? later : warp.ready)));
  }
  Thread* take(uint32_t lane) {
    lane_ = lane;
    warps_[warp_].ready &= ~(1u << lane);
    return &threads_[warp_ * Warp::kLanes + lane];
  }
  Thread* take_some(uint32_t warp);
  Thread* next_of_other_warps();
  [[noreturn]] void end_thread();
  [[noreturn]] void leave();
  void nothing_new();
  void rest();
  uint32_t draw();

  Barrier& come_to(uint32_t id, uint32_t threads);
  void open(Barrier& barrier, BarrierVote vote);

  // For messages (block_verdict.cpp).
  [[noreturn, gnu::cold]] void stack_is_full(const unsigned char* here);
  [[noreturn, gnu::cold]] void bad_mask(WarpOp op, uint32_t mask);
  [[noreturn, gnu::cold]] void disagree(WarpOp op, uint32_t mask);
  std::string barrier_name(uint32_t id) const;
  std::string thread_name(const Thread& thread) const;
  std::string state_of(const Thread& thread) const;
  std::string describe() const;
  std::string deadlock() const;
  const Thread& thread_at(uint32_t warp, uint32_t lane) const {
    return threads_[warp * Warp::kLanes + lane];
  }

  // The number keeps it among the initialised variables, out of the way of the poison.
  struct Current {
    Block* block;
    uint32_t initialised;
  };
  static inline constinit thread_local Current current_{nullptr, 1};

  Crew& crew_;
  const std::function<void()>& body_;
  uint64_t number_ = 0;
  Context home_;  // the OS thread's own stack
  std::vector<StackRow> rows_;
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  Barrier barriers_[kBarriers];
  std::unique_ptr<unsigned char[]> shared_;
  StaticShared static_shared_;

  Thread* running_ = nullptr;
  uint32_t warp_ = 0;   // whose turn it is
  uint32_t lane_ = 0;   // of it
  uint32_t turns_ = 0;  // that are left to this warp; always 0 when the order is drawn
  uint32_t ended_ = 0;
  size_t stack_used_ = 0;  // when that is too much
  uint32_t quiet_ = 0;     // polls in a row that saw nothing new
  uint32_t rests_ = 0;
  uint64_t random_ = 0;        // 0: in order
  volatile bool busy_ = true;  // the layer is at work outside of a fibre, or rests
};

}  // namespace strait::simt
