// Every collective, type and operation by the kernels, bit for bit as the host's arithmetic on the
// same plan: all types and operations on a few shapes, then scenes drawn by lot.
#include <gtest/gtest.h>

#include <random>

#include "exec/cuda/world.hpp"

namespace strait::test {
namespace {

void expect_same_bits(const Scene& scene) {
  SCOPED_TRACE(describe(scene));
  World world(scene);
  const auto expected = world.expected();
  const auto found = world.run();
  ASSERT_TRUE(found.ok()) << found.status().message();
  for (size_t rank = 0; rank < expected.size(); ++rank) {
    EXPECT_EQ(world.report(static_cast<int>(rank)).failure, 0U);
    ASSERT_EQ((*found)[rank], expected[rank]) << "rank " << rank;
  }
}

class Types : public testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(Types, RingHasTheHostsBits) {
  const auto [type, reduce] = GetParam();
  const Request request{.collective = Collective::kAllReduce,
                        .type = static_cast<DataType>(type),
                        .reduce = static_cast<ReduceKind>(reduce),
                        .count = 1000};
  const Choice choice{.algorithm = Algorithm::kRing, .lanes = 2, .piece = 150, .reason = ""};
  expect_same_bits({.request = request, .topology = Topology::flat(3), .choice = choice});
}

TEST_P(Types, DirectHasTheHostsBits) {
  const auto [type, reduce] = GetParam();
  const Request request{.collective = Collective::kAllReduce,
                        .type = static_cast<DataType>(type),
                        .reduce = static_cast<ReduceKind>(reduce),
                        .count = 777};
  const Choice choice{.algorithm = Algorithm::kTwoShot, .lanes = 1, .piece = 512, .reason = ""};
  expect_same_bits({.request = request,
                    .topology = Topology::flat(4),
                    .choice = choice,
                    .in_place = true,
                    .low_latency = false});
}

std::string name_of_types(const testing::TestParamInfo<std::tuple<int, int>>& types) {
  return fmt::format("{}_{}", name_of(static_cast<DataType>(std::get<0>(types.param))),
                     name_of(static_cast<ReduceKind>(std::get<1>(types.param))));
}

INSTANTIATE_TEST_SUITE_P(All, Types,
                         testing::Combine(testing::Range(0, kDataTypeCount),
                                          testing::Range(0, kReduceKindCount)),
                         name_of_types);

// A scene that somebody may meet: any collective by any algorithm that it has.
std::optional<Scene> draw(uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](uint64_t limit) { return random() % limit; };
  Scene scene{
      .request = {}, .topology = Topology::flat(static_cast<int>(2 + below(6))), .choice = {}};
  scene.seed = seed;
  scene.request.collective = static_cast<Collective>(below(8));  // all but send and receive
  scene.request.type = static_cast<DataType>(below(kDataTypeCount));
  scene.request.reduce = static_cast<ReduceKind>(below(kReduceKindCount));
  scene.request.count = 1 + below(2000);
  scene.request.root = static_cast<int>(below(static_cast<uint64_t>(scene.topology.rank_count())));
  scene.choice.algorithm = static_cast<Algorithm>(below(kAlgorithmCount));
  scene.choice.lanes = static_cast<int>(1 + below(3));
  scene.choice.piece = 1 + below(3000);
  scene.in_place = below(2) == 0;
  scene.low_latency = below(2) == 0;
  scene.slots = static_cast<int>(2 + below(3));
  scene.threads = static_cast<uint32_t>(32 << below(3));
  scene.misaligned = static_cast<uint32_t>(below(2) * size_of(scene.request.type));
  if (!make_plan(scene.request, scene.topology, scene.choice, 0).ok()) return std::nullopt;
  return scene;
}

TEST(Scenes, DrawnByLotHaveTheHostsBits) {
  int ran = 0;
  for (uint64_t seed = 1; ran < 300; ++seed) {
    const auto scene = draw(seed);
    if (!scene) continue;
    expect_same_bits(*scene);
    if (HasFatalFailure()) return;
    ++ran;
  }
}

}  // namespace
}  // namespace strait::test
