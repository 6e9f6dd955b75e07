// Which steps of a lane become one addition.
#include "exec/sums.hpp"

#include <gtest/gtest.h>

namespace strait {
namespace {

constexpr Place kSum{Buffer::kScratch, 0};
constexpr Place kInput{Buffer::kInput, 0};
constexpr Place kOutput{Buffer::kOutput, 0};

Step first(int peer) {
  return {.count = 8, .recv_from = peer, .source = kInput, .target = kSum};
}
Step next(int peer) {
  return {.count = 8, .recv_from = peer, .source = kSum, .target = kSum};
}
Step last(int peer, Wire wire) {
  return {.count = 8,
          .recv_from = peer,
          .source = kSum,
          .target = kOutput,
          .recv_wire = wire,
          .finish = true};
}

constexpr SumRole kAlone = SumRole::kAlone;
constexpr SumRole kPart = SumRole::kPart;
constexpr SumRole kLast = SumRole::kLast;
using Roles = std::vector<SumRole>;

Roles roles(std::vector<Step> steps) {
  return find_sums({.piece = 8, .steps = std::move(steps)});
}

TEST(Sums, ARunOfPlainContributionsIsOneAddition) {
  EXPECT_EQ(roles({first(1), next(2), last(3, Wire::kPlain)}), (Roles{kPart, kPart, kLast}));
}

TEST(Sums, WhatComesBeforeACodedContributionIsOneAddition) {
  EXPECT_EQ(roles({first(1), next(2), next(3), last(4, Wire::kCoded)}),
            (Roles{kPart, kPart, kLast, kAlone}));
  EXPECT_EQ(roles({first(1), last(4, Wire::kCoded)}), (Roles{kAlone, kAlone}));
}

TEST(Sums, ASumThatAnotherStepReadsIsLeftAlone) {
  const Step reader{.count = 8, .source = kSum, .send_to = 5};
  EXPECT_EQ(roles({first(1), next(2), last(3, Wire::kPlain), reader}),
            (Roles{kAlone, kAlone, kAlone, kAlone}));
}

TEST(Sums, TwoMessagesOfOneLinkAreNotHeldTogether) {
  EXPECT_EQ(roles({first(1), next(1), last(2, Wire::kPlain)}), (Roles{kAlone, kAlone, kAlone}));
}

}  // namespace
}  // namespace strait
