#include "perf/engine/bound.hpp"

#include <gtest/gtest.h>

#include "perf/engine/expected.hpp"
#include "perf/engine/shapes.hpp"

namespace strait::perf {
namespace {

const std::vector<int> kTwoRacks = {0, 0, 1, 1};
const std::vector<int> kThreeRacks = {0, 0, 1, 1, 2, 2};

double crossing(std::vector<Piece> (*result)(const Shape&), const std::vector<int>& racks,
                uint64_t elements = 4800, int root = 0) {
  Collective collective{};
  collective.result = result;
  const Shape shape{elements, 4, static_cast<int>(racks.size()), 0, root};
  return elements_to_send(collective, shape, racks);
}

std::vector<Piece> broadcast(const Shape& shape) {
  return {{shape.root, 0, 0, shape.elements}};
}
std::vector<Piece> reduce(const Shape& shape) {
  return at_root(shape) ? whole_sum(shape) : std::vector<Piece>{};
}
std::vector<Piece> gather(const Shape& shape) {
  return at_root(shape) ? all_blocks(shape) : std::vector<Piece>{};
}
std::vector<Piece> scattered_sum(const Shape& shape) {
  return {{Piece::kEveryRank, block_first(shape, shape.rank), 0, block_elements(shape)}};
}
std::vector<Piece> exchanged(const Shape& shape) {
  std::vector<Piece> pieces = all_blocks(shape);
  for (Piece& piece : pieces) piece.source_first = block_first(shape, shape.rank);
  return pieces;
}
std::vector<Piece> ring(const Shape& shape) {
  return {{(shape.rank + shape.rank_count - 1) % shape.rank_count, 0, 0, shape.elements}};
}

TEST(Bound, IsNothingInOneRack) {
  EXPECT_EQ(crossing(whole_sum, {0, 0, 0, 0}), 0);
}

// What a rack must send, by hand: S = 4800 elements.
TEST(Bound, OfSums) {
  EXPECT_EQ(crossing(whole_sum, kTwoRacks), 4800);
  EXPECT_EQ(crossing(whole_sum, kThreeRacks), 4800.0 * 2 * 2 / 3);  // 2 (D - 1) / D
  EXPECT_EQ(crossing(reduce, kTwoRacks), 4800);                     // the other rack's sum
  EXPECT_EQ(crossing(reduce, kThreeRacks), 4800);
  EXPECT_EQ(crossing(scattered_sum, kTwoRacks), 2400);
  EXPECT_EQ(crossing(scattered_sum, kThreeRacks), 3200);
}

TEST(Bound, OfMoves) {
  EXPECT_EQ(crossing(all_blocks, kTwoRacks), 2400);    // own half, once, though two ranks need it
  EXPECT_EQ(crossing(all_blocks, kThreeRacks), 3200);  // a third to each of two others
  EXPECT_EQ(crossing(broadcast, kTwoRacks), 4800);
  EXPECT_EQ(crossing(broadcast, kThreeRacks), 4800);  // others may pass it on
  EXPECT_EQ(crossing(gather, kTwoRacks), 2400);
  EXPECT_EQ(crossing(exchanged, kTwoRacks), 4800 / 4 * 2 * 2);  // two ranks, two blocks each
  EXPECT_EQ(crossing(ring, kTwoRacks), 4800);                   // one edge each way
}

TEST(Bound, IsLatencyAndBytesOverTheRate) {
  Collective collective{};
  collective.result = whole_sum;
  const Shape shape{1000, 4, 4, 0, 0};
  EXPECT_EQ(bound_us({100, 7}, collective, shape, kTwoRacks), 7 + 4000.0 / 100);
  EXPECT_EQ(bound_us({0, 7}, collective, shape, kTwoRacks), 0);
  EXPECT_EQ(bound_us({100, 7}, collective, shape, {0, 0, 0, 0}), 0);
}

TEST(Expected, IsMadeOfPieces) {
  struct Counting : Source {
    void fill(const Problem&, int rank, uint64_t first, uint64_t count,
              std::byte* out) const override {
      for (uint64_t i = 0; i < count; ++i)
        out[i] = static_cast<std::byte>(100 * rank + static_cast<int>(first + i));
    }
  };
  const Counting source;
  const Reference reference(source, {0, 0}, false);
  const Problem problem{DataType::kUint8, ReduceKind::kSum, 2};
  std::vector<std::byte> out(5, std::byte{255});
  fill_expected(reference, problem, {{1, 3, 0, 2}, {0, 7, 2, 2}, {Piece::kEveryRank, 1, 4, 9}}, 1,
                5, out.data());
  const std::vector<int> wanted = {104, 7, 8, 1 + 101, 2 + 102};
  for (size_t i = 0; i < out.size(); ++i) EXPECT_EQ(static_cast<int>(out[i]), wanted[i]) << i;
}

}  // namespace
}  // namespace strait::perf
