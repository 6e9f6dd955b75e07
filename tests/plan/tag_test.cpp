// What a tag tells whoever sees only that.
#include "plan/tag.hpp"

#include <gtest/gtest.h>

namespace strait {
namespace {

TEST(Tag, HoldsTheTypeOfACollective) {
  for (int type = 0; type < kDataTypeCount; ++type)
    for (const Collective collective : {Collective::kAllReduce, Collective::kAllGather}) {
      Request request;
      request.collective = collective;
      request.type = static_cast<DataType>(type);
      request.count = 1234;
      EXPECT_EQ(type_in_tag(tag_of(request, 1023)), request.type);
    }
}

TEST(Tag, OfAMessageHoldsNoType) {
  Request request;
  request.collective = Collective::kSend;
  request.type = DataType::kFloat32;
  request.count = 1 << 20;
  EXPECT_EQ(type_in_tag(tag_of(request, 0)), std::nullopt);
  EXPECT_EQ(type_in_tag(0xffff'fff0), std::nullopt) << "no tag at all";
}

}  // namespace
}  // namespace strait
