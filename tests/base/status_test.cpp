#include "base/status.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>

namespace strait {
namespace {

using testing::HasSubstr;

Result<int> half(int number) {
  if (number % 2 != 0) return error(Code::kInvalidArgument, "{} is odd; pass an even one", number);
  return number / 2;
}

Result<int> quarter(int number) {
  STRAIT_ASSIGN(const int once, half(number));
  STRAIT_ASSIGN(const int twice, half(once));
  return twice;
}

Status is_even(int number) {
  STRAIT_TRY(half(number).status());
  return Status();
}

TEST(Status, IsOkByDefault) {
  const Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.code(), Code::kOk);
  EXPECT_EQ(status.message(), "");
}

TEST(Status, CarriesCodeAndSentence) {
  const Status status = error(Code::kTimeout, "rank {} is late", 3);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.code(), Code::kTimeout);
  EXPECT_EQ(status.message(), "rank 3 is late");
}

TEST(Status, AtAddsThePlaceToFailuresOnly) {
  EXPECT_EQ(error(Code::kSystemError, "no room").at("rank 1").message(), "rank 1: no room");
  EXPECT_EQ(error(Code::kSystemError, "no room").at("rank 1").code(), Code::kSystemError);
  EXPECT_EQ(Status().at("rank 1").message(), "");
}

TEST(Status, SystemErrorTellsErrno) {
  errno = ENOENT;
  const Status status = system_error("open /nowhere");
  EXPECT_EQ(status.code(), Code::kSystemError);
  EXPECT_EQ(status.message(), "open /nowhere: No such file or directory");
}

TEST(Status, TryReturnsTheFailure) {
  EXPECT_TRUE(is_even(4).ok());
  EXPECT_THAT(is_even(5).message(), HasSubstr("5 is odd"));
}

TEST(Result, HoldsAValueOrTheReason) {
  EXPECT_EQ(*half(4), 2);
  EXPECT_FALSE(half(3).ok());
  EXPECT_EQ(half(3).status().code(), Code::kInvalidArgument);
}

TEST(Result, AssignPassesTheFirstFailureOn) {
  EXPECT_EQ(*quarter(8), 2);
  EXPECT_THAT(quarter(6).status().message(), HasSubstr("3 is odd"));
}

TEST(Result, MovesWhatCannotBeCopied) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(7));
  const std::unique_ptr<int> owned = std::move(*result);
  EXPECT_EQ(*owned, 7);
}

TEST(StatusDeathTest, ValueOfAFailureIsABug) {
  EXPECT_DEATH((void)*half(3), "3 is odd");
  EXPECT_DEATH(Result<int>{Status()}, "needs a failure");
}

TEST(StatusDeathTest, CheckNamesConditionReasonAndPlace) {
  EXPECT_DEATH(STRAIT_CHECK(1 > 2, "numbers are broken"),
               "bug: numbers are broken \\(1 > 2\\) at .*status_test.cpp");
}

}  // namespace
}  // namespace strait
