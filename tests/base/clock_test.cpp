#include "base/clock.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace strait {
namespace {

TEST(Clock, CountsNanosecondsForward) {
  const int64_t before = now_ns();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const int64_t passed = now_ns() - before;
  EXPECT_GE(passed, 5'000'000);
  EXPECT_LT(passed, 5'000'000'000);
}

TEST(Deadline, PassesWhenItsTimeComes) {
  const Deadline soon = Deadline::after_ms(2);
  EXPECT_FALSE(Deadline::after_ms(60'000).passed());
  EXPECT_LE(soon.left_ns(), 2'000'000);
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  EXPECT_TRUE(soon.passed());
  EXPECT_EQ(soon.left_ns(), 0);
  EXPECT_EQ(soon.left_ms(), 0);
}

// poll() with 0 ms does not wait, so a rest of a millisecond must count as one.
TEST(Deadline, RoundsMillisecondsUp) {
  const Deadline deadline = Deadline::after_ns(60'000'000'500);
  EXPECT_GE(deadline.left_ms(), 59'000);
  EXPECT_EQ(Deadline::at_ns(now_ns() + 30'000'000'000).at_ns() > now_ns(), true);
  const Deadline tiny = Deadline::after_ns(900'000);
  if (const int left = tiny.left_ms(); !tiny.passed()) {
    EXPECT_EQ(left, 1);
  }
}

}  // namespace
}  // namespace strait
