#include "plan/request.hpp"

#include <gtest/gtest.h>

namespace strait {
namespace {

constexpr int kRanks = 4;

struct Shape {
  Collective collective;
  uint64_t input;
  uint64_t output;
  std::optional<int64_t> in_place;
};

Request request_of(Collective collective) {
  return {.collective = collective, .count = 10, .root = 2};
}

void expect_shape(const Shape& shape, int rank) {
  SCOPED_TRACE(name_of(shape.collective));
  const Request request = request_of(shape.collective);
  EXPECT_EQ(input_count(request, rank, kRanks), shape.input);
  EXPECT_EQ(output_count(request, rank, kRanks), shape.output);
  EXPECT_EQ(in_place_offset(request, rank, kRanks), shape.in_place);
}

TEST(Request, BuffersOffRoot) {
  for (const Shape& shape : {Shape{Collective::kAllReduce, 10, 10, 0},
                             {Collective::kReduce, 10, 0, 0},
                             {Collective::kBroadcast, 0, 10, 0},
                             {Collective::kAllGather, 10, 40, 30},
                             {Collective::kReduceScatter, 40, 10, -30},
                             {Collective::kAllToAll, 40, 40, std::nullopt},
                             {Collective::kGather, 10, 0, 0},
                             {Collective::kScatter, 0, 10, 0},
                             {Collective::kSend, 10, 0, 0},
                             {Collective::kReceive, 0, 10, 0}})
    expect_shape(shape, 3);
}

TEST(Request, BuffersAtTheRoot) {
  for (const Shape& shape : {Shape{Collective::kReduce, 10, 10, 0},
                             {Collective::kBroadcast, 10, 10, 0},
                             {Collective::kGather, 10, 40, 20},
                             {Collective::kScatter, 40, 10, -20}})
    expect_shape(shape, 2);
}

TEST(Request, NamesComeBack) {
  for (int i = 0; i < kCollectiveCount; ++i) {
    const auto collective = static_cast<Collective>(i);
    EXPECT_EQ(parse_collective(name_of(collective)), collective);
  }
  EXPECT_EQ(name_of(Collective::kAllReduce), "all_reduce");
  EXPECT_EQ(name_of(Collective::kReceive), "receive");
  EXPECT_EQ(parse_collective("allreduce"), std::nullopt);
}

TEST(Request, ThreeCollectivesReduce) {
  int count = 0;
  for (int i = 0; i < kCollectiveCount; ++i) count += reduces(static_cast<Collective>(i));
  EXPECT_EQ(count, 3);
  EXPECT_TRUE(reduces(Collective::kAllReduce));
  EXPECT_TRUE(reduces(Collective::kReduce));
  EXPECT_TRUE(reduces(Collective::kReduceScatter));
}

}  // namespace
}  // namespace strait
