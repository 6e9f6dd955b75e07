// Doorbell: how whoever moved something (a peer's thread, another process, the reactor) wakes the
// one thread that waits for it. The word lives in memory that both sides map, so one doorbell
// serves threads and processes alike. ring() may be called from any thread or process; wait() by
// the owner. A ring with nobody asleep costs one atomic add and one load; a wait spins briefly,
// yields, then sleeps in the kernel (futex), so more ranks than cores do not collapse.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.hpp"

namespace strait {

// Shared-memory layout: 64 bytes, zero-initialised is valid.
struct alignas(64) DoorbellWord {
  std::atomic<uint32_t> count{0};  // partner: wait() compares it with the value read before looking
  std::atomic<uint32_t> sleepers{0};  // partner: ring() skips the kernel when it is zero
};

class Doorbell {
 public:
  explicit Doorbell(DoorbellWord* word) : word_(word) {}

  // Read before checking the condition; pass the value to wait() if the condition did not hold.
  uint32_t read() const { return word_->count.load(std::memory_order_acquire); }
  void ring();
  // Returns true when it rang since `seen`, false at the deadline.
  bool wait(uint32_t seen, Deadline deadline);

 private:
  DoorbellWord* word_;
};

}  // namespace strait
