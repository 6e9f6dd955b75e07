#include "base/doorbell.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <new>
#include <thread>
#include <vector>

namespace strait {
namespace {

Deadline long_enough() {
  return Deadline::after_ms(30'000);
}

TEST(Doorbell, ARingBeforeTheWaitIsNotLost) {
  DoorbellWord word;
  Doorbell bell(&word);
  const uint32_t seen = bell.read();
  bell.ring();
  EXPECT_TRUE(bell.wait(seen, long_enough()));
}

TEST(Doorbell, WaitEndsAtTheDeadline) {
  DoorbellWord word;
  Doorbell bell(&word);
  const int64_t before = now_ns();
  EXPECT_FALSE(bell.wait(bell.read(), Deadline::after_ms(20)));
  EXPECT_GE(now_ns() - before, 20'000'000);
  EXPECT_FALSE(bell.wait(bell.read(), Deadline::after_ms(-1)));
  EXPECT_EQ(word.sleepers.load(), 0u);
}

TEST(Doorbell, WakesASleeper) {
  DoorbellWord word;
  Doorbell bell(&word);
  std::thread ringer([&] {
    while (word.sleepers.load() == 0) std::this_thread::yield();
    bell.ring();
  });
  EXPECT_TRUE(bell.wait(bell.read(), long_enough()));
  ringer.join();
  EXPECT_EQ(word.sleepers.load(), 0u);
}

// A value handed over by one atomic without a lock: whoever waits must never sleep through the ring
// that follows it.
void bounce(Doorbell& mine, Doorbell& other, std::atomic<int>& ball, int parity, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    while (true) {
      const uint32_t seen = mine.read();
      if (ball.load(std::memory_order_acquire) % 2 == parity) break;
      if (!mine.wait(seen, long_enough())) return;
    }
    ball.fetch_add(1, std::memory_order_release);
    other.ring();
  }
}

TEST(Doorbell, NoWakeUpIsLostBetweenThreads) {
  constexpr int kRounds = 20'000;
  DoorbellWord words[2];
  Doorbell bells[2] = {Doorbell(&words[0]), Doorbell(&words[1])};
  std::atomic<int> ball{0};
  std::thread other([&] { bounce(bells[1], bells[0], ball, 1, kRounds); });
  bounce(bells[0], bells[1], ball, 0, kRounds);
  other.join();
  EXPECT_EQ(ball.load(), 2 * kRounds);
}

TEST(Doorbell, NoWakeUpIsLostAmongManyRingers) {
  constexpr int kRingers = 4;
  constexpr int kRings = 5'000;
  DoorbellWord word;
  Doorbell bell(&word);
  std::atomic<int> done{0};
  std::vector<std::thread> ringers;
  for (int t = 0; t < kRingers; ++t)
    ringers.emplace_back([&] {
      for (int i = 0; i < kRings; ++i) {
        done.fetch_add(1, std::memory_order_release);
        bell.ring();
        if (i % 64 == 0) std::this_thread::yield();
      }
    });
  bool rang = true;
  while (rang) {
    const uint32_t seen = bell.read();
    if (done.load(std::memory_order_acquire) == kRingers * kRings) break;
    rang = bell.wait(seen, long_enough());
  }
  EXPECT_TRUE(rang);
  for (std::thread& ringer : ringers) ringer.join();
}

struct SharedTable {
  DoorbellWord words[2];
  std::atomic<int> ball{0};
};

TEST(Doorbell, NoWakeUpIsLostBetweenProcesses) {
  constexpr int kRounds = 5'000;
  void* const memory =
      mmap(nullptr, sizeof(SharedTable), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const table = new (memory) SharedTable;
  Doorbell bells[2] = {Doorbell(&table->words[0]), Doorbell(&table->words[1])};
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    bounce(bells[1], bells[0], table->ball, 1, kRounds);
    _exit(0);
  }
  bounce(bells[0], bells[1], table->ball, 0, kRounds);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(table->ball.load(), 2 * kRounds);
  munmap(memory, sizeof(SharedTable));
}

}  // namespace
}  // namespace strait
