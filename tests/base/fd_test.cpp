#include "base/fd.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace strait {
namespace {

bool is_open(int fd) {
  return fcntl(fd, F_GETFD) != -1;
}

int open_null() {
  return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

TEST(UniqueFd, ClosesOnceAtTheEnd) {
  int number = -1;
  {
    const UniqueFd fd(open_null());
    ASSERT_TRUE(static_cast<bool>(fd));
    number = fd.get();
    EXPECT_TRUE(is_open(number));
  }
  EXPECT_FALSE(is_open(number));
}

TEST(UniqueFd, MovesItsOwnership) {
  UniqueFd first(open_null());
  const int number = first.get();
  UniqueFd second(std::move(first));
  EXPECT_EQ(second.get(), number);
  EXPECT_EQ(first.get(), -1);  // NOLINT: a moved-from owner is empty by promise
  UniqueFd third(open_null());
  const int replaced = third.get();
  third = std::move(second);
  EXPECT_FALSE(is_open(replaced));
  EXPECT_TRUE(is_open(number));
}

TEST(UniqueFd, ReleaseGivesItAway) {
  UniqueFd fd(open_null());
  const int number = fd.release();
  fd.reset();
  EXPECT_TRUE(is_open(number));
  close(number);
}

}  // namespace
}  // namespace strait
