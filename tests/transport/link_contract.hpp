// The contract that every transport keeps, as a suite over transport_kinds(). Two ranks, 0 and 1,
// are made by the fixture.
#pragma once

#include <gtest/gtest.h>

#include "transport/test_ranks.hpp"

namespace strait::test {

class LinkContract : public testing::TestWithParam<TransportKind> {
 protected:
  const OpenTransport& open() const { return GetParam().open; }

  TestRank zero_{open(), 0};
  TestRank one_{open(), 1};
};

}  // namespace strait::test
