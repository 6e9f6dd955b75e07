#include "base/doorbell.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace strait {
namespace {

constexpr int kSpins = 64;
constexpr int kYields = 4;

void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

void Doorbell::ring() {
  // seq_cst pairs with the seq_cst increment of sleepers in wait(): either the ringer sees the
  // sleeper or the sleeper sees the new count.
  word_->count.fetch_add(1, std::memory_order_seq_cst);
  if (word_->sleepers.load(std::memory_order_seq_cst) != 0)
    syscall(SYS_futex, &word_->count, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

bool Doorbell::wait(uint32_t seen, Deadline deadline) {
  for (int i = 0; i < kSpins; ++i) {
    if (read() != seen) return true;
    pause_cpu();
  }
  for (int i = 0; i < kYields; ++i) {
    sched_yield();
    if (read() != seen) return true;
  }
  bool rang = false;
  word_->sleepers.fetch_add(1, std::memory_order_seq_cst);
  while (!rang) {
    rang = word_->count.load(std::memory_order_seq_cst) != seen;
    const int64_t left = deadline.left_ns();
    if (rang || left == 0) break;
    timespec timeout{.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
    syscall(SYS_futex, &word_->count, FUTEX_WAIT, seen, &timeout, nullptr, 0);
  }
  word_->sleepers.fetch_sub(1, std::memory_order_seq_cst);
  return rang;
}

}  // namespace strait
