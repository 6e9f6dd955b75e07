#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/cases.hpp"

namespace strait::plan_test {
namespace {

using testing::HasSubstr;

Request all_reduce(uint64_t bytes) {
  return {.collective = Collective::kAllReduce, .type = DataType::kBfloat16, .count = bytes / 2};
}

Choice choice_of(const Request& request, const Topology& topology, const Config& config = {}) {
  return choose(request, topology, config).value();
}

Config with_algorithm(const char* name) {
  Config config;
  config.algorithm = name;
  return config;
}

TEST(Choose, AllReduceGrowsOutOfOneHop) {
  const Topology host = Topology::flat(8);
  EXPECT_EQ(choice_of(all_reduce(1 << 10), host).algorithm, Algorithm::kOneShot);
  EXPECT_EQ(choice_of(all_reduce(16 << 10), host).algorithm, Algorithm::kOneShot);
  EXPECT_EQ(choice_of(all_reduce(1 << 20), host).algorithm, Algorithm::kTwoShot);
}

TEST(Choose, AllReduceBetweenDomainsIsHierarchicalUnlessTiny) {
  for (const char* text : {"4+4", "7+8", "1+1", "1+3"}) {
    EXPECT_EQ(choice_of(all_reduce(1 << 10), layout(text)).algorithm, Algorithm::kOneShot);
    EXPECT_EQ(choice_of(all_reduce(16 << 20), layout(text)).algorithm, Algorithm::kHierarchical);
  }
}

// A lane is a block there: many fill NVLink, few serve a NIC.
TEST(Choose, GpusHaveMoreLanesInsideThanBetweenDomains) {
  Config gpu;
  gpu.device = "gpu";
  const Request large = all_reduce(256 << 20);
  EXPECT_EQ(choice_of(large, Topology::flat(8)).lanes, 4);
  EXPECT_EQ(choice_of(large, Topology::flat(8), gpu).lanes, 16);
  EXPECT_EQ(choice_of(large, layout("4+4"), gpu).lanes, 8);
  EXPECT_EQ(choice_of(all_reduce(1 << 20), Topology::flat(8), gpu).lanes, 4);
  gpu.lanes_max = 3;
  EXPECT_EQ(choice_of(large, Topology::flat(8), gpu).lanes, 3);
}

// Not even a wish may have more than run beside each other: the rest would be waited for in vain.
TEST(Choose, GpusHaveNoMoreLanesThanTheyHaveRoomFor) {
  Config gpu;
  gpu.device = "gpu";
  gpu.gpu_blocks = 5;
  Request large = all_reduce(256 << 20);
  EXPECT_EQ(choice_of(large, Topology::flat(8), gpu).lanes, 5);
  large.limits.lanes_min = 9;
  EXPECT_EQ(choice_of(large, Topology::flat(8), gpu).lanes, 5);
  gpu.lanes = 12;
  EXPECT_EQ(choice_of(large, Topology::flat(8), gpu).lanes, 5);
}

// All of an NVL72 domain reach each other in one hop.
TEST(Choose, GpusOfAnNvlinkDomainGoDirect) {
  Config gpu;
  gpu.device = "gpu";
  const Choice inside = choice_of(all_reduce(256 << 20), Topology::flat(72), gpu);
  EXPECT_EQ(inside.algorithm, Algorithm::kTwoShot);
  EXPECT_EQ(inside.lanes, 4);
  EXPECT_EQ(choice_of(all_reduce(8 << 10), Topology::flat(72), gpu).algorithm, Algorithm::kOneShot);
  const Choice between =
      choice_of(all_reduce(256 << 20), synthetic("2 racks x 72 ranks").value(), gpu);
  EXPECT_EQ(between.algorithm, Algorithm::kHierarchical);
  EXPECT_EQ(between.lanes, 4);
  EXPECT_EQ(choice_of(all_reduce(64 << 20), Topology::flat(73), gpu).algorithm, Algorithm::kRing);
}

TEST(Choose, ManyRanksOpenFewLinks) {
  const Topology many = Topology::flat(200);
  EXPECT_EQ(choice_of(all_reduce(1 << 10), many).algorithm, Algorithm::kTree);
  EXPECT_EQ(choice_of(all_reduce(64 << 20), many).algorithm, Algorithm::kRing);
  const Topology racks = synthetic("40 racks x 40 ranks").value();
  EXPECT_EQ(choice_of(all_reduce(1 << 10), racks).algorithm, Algorithm::kTree);
  EXPECT_EQ(choice_of(all_reduce(64 << 20), racks).algorithm, Algorithm::kRing);
  EXPECT_EQ(choice_of({.collective = Collective::kAllGather, .count = 1}, many).algorithm,
            Algorithm::kRing);
}

TEST(Choose, GathersGoByLevelsUnlessTiny) {
  for (const Collective collective : {Collective::kAllGather, Collective::kReduceScatter}) {
    const Request small{.collective = collective, .count = 16};
    const Request large{.collective = collective, .count = 1 << 20};
    EXPECT_EQ(choice_of(large, Topology::flat(8)).algorithm, Algorithm::kDirect);
    EXPECT_EQ(choice_of(small, layout("4+4")).algorithm, Algorithm::kDirect);
    EXPECT_EQ(choice_of(large, layout("4+4")).algorithm, Algorithm::kHierarchical);
    EXPECT_EQ(choice_of(large, layout("7+8")).algorithm, Algorithm::kHierarchical);
    EXPECT_EQ(choice_of(large, synthetic("2 racks x 40 ranks").value()).algorithm,
              Algorithm::kRing);
  }
}

TEST(Choose, RootedCollectivesGoFromHopToTreeToChain) {
  for (const Collective collective : {Collective::kBroadcast, Collective::kReduce}) {
    const auto of_bytes = [&](uint64_t bytes) {
      return choice_of({.collective = collective, .count = bytes / 4}, Topology::flat(8)).algorithm;
    };
    EXPECT_EQ(of_bytes(4 << 10), Algorithm::kDirect);
    EXPECT_EQ(of_bytes(256 << 10), Algorithm::kTree);
    EXPECT_EQ(of_bytes(4 << 20), Algorithm::kRing);
  }
}

// A chain of two domains fills at once; a longer one needs data, or a tree is shorter.
TEST(Choose, RootedCollectivesGoByLevelsWhereTheChainFills) {
  for (const Collective collective : {Collective::kBroadcast, Collective::kReduce}) {
    const auto of_bytes = [&](uint64_t bytes, const char* racks) {
      return choice_of({.collective = collective, .count = bytes / 4}, synthetic(racks).value())
          .algorithm;
    };
    EXPECT_EQ(of_bytes(4 << 10, "2 racks x 4 ranks"), Algorithm::kDirect);
    EXPECT_EQ(of_bytes(16 << 10, "2 racks x 4 ranks"), Algorithm::kHierarchical);
    EXPECT_EQ(of_bytes(64 << 20, "2 racks x 4 ranks"), Algorithm::kHierarchical);
    EXPECT_EQ(of_bytes(256 << 10, "8 racks x 4 ranks"), Algorithm::kTree);
    EXPECT_EQ(of_bytes(512 << 10, "8 racks x 4 ranks"), Algorithm::kHierarchical);
    EXPECT_EQ(of_bytes(64 << 20, "2 racks x 40 ranks"), Algorithm::kRing);
  }
}

TEST(Choose, SomeCollectivesHaveOneWay) {
  for (const Collective collective :
       {Collective::kAllToAll, Collective::kGather, Collective::kScatter})
    EXPECT_EQ(choice_of({.collective = collective, .count = 5}, Topology::flat(3)).algorithm,
              Algorithm::kDirect);
  for (const Collective collective : {Collective::kSend, Collective::kReceive}) {
    const Choice choice = choice_of({.collective = collective, .count = 1 << 24}, layout("2+2"));
    EXPECT_EQ(choice.algorithm, Algorithm::kPointToPoint);
    EXPECT_EQ(choice.lanes, 1);
  }
}

TEST(Choose, TheSettingDecidesWhereItCan) {
  for (const char* name : {"ring", "tree", "one_shot", "two_shot", "hierarchical"}) {
    const Choice choice = choice_of(all_reduce(1 << 20), layout("4+4"), with_algorithm(name));
    EXPECT_EQ(name_of(choice.algorithm), name);
    EXPECT_THAT(choice.reason, HasSubstr("STRAIT_ALGO"));
  }
}

TEST(Choose, TheSettingGivesWayWhereTheCollectiveHasNoSuchAlgorithm) {
  const Request request{.collective = Collective::kAllToAll, .count = 100};
  const Choice choice = choice_of(request, Topology::flat(4), with_algorithm("tree"));
  EXPECT_EQ(choice.algorithm, Algorithm::kDirect);
  EXPECT_EQ(choice.reason, "all_to_all has no tree; every byte has its own destination");
}

TEST(Choose, AnUnknownAlgorithmIsAnError) {
  const Result<Choice> choice = choose(all_reduce(8), Topology::flat(2), with_algorithm("rign"));
  ASSERT_FALSE(choice.ok());
  EXPECT_EQ(choice.status().message(), "STRAIT_ALGO: 'rign' is no algorithm; auto always works");
}

TEST(Choose, NoRanksIsAnError) {
  EXPECT_FALSE(choose(all_reduce(8), Topology{}, {}).ok());
}

TEST(Choose, PiecesFitSlotAndChunk) {
  Config config;
  config.slot_bytes = 64 << 10;
  for (const DataType type : {DataType::kInt8, DataType::kBfloat16, DataType::kFloat64})
    for (const int64_t chunk : {0, 1, 5000, 1 << 20}) {
      config.chunk_bytes = chunk;
      const Request request{
          .collective = Collective::kAllReduce, .type = type, .count = 50'000'001};
      const Choice choice = choice_of(request, layout("4+4"), config);
      const uint64_t bytes = choice.piece * size_of(type);
      EXPECT_GE(choice.piece, 1u);
      EXPECT_LE(bytes, std::max<uint64_t>(size_of(type), chunk > 0 && chunk < (64 << 10)
                                                             ? static_cast<uint64_t>(chunk)
                                                             : 64 << 10));
    }
}

// Both ends must cut alike, whatever type each of them calls the bytes.
TEST(Choose, PointToPointCutsBytesAlikeForEveryType) {
  for (const int64_t slot : {4096, 4100, 131072})
    for (const int64_t chunk : {0, 1, 5003}) {
      Config config;
      config.slot_bytes = slot;
      config.chunk_bytes = chunk;
      const auto bytes = [&](DataType type, uint64_t count) {
        const Request request{.collective = Collective::kSend, .type = type, .count = count};
        return choice_of(request, layout("1+1"), config).piece * size_of(type);
      };
      EXPECT_EQ(bytes(DataType::kInt8, 80'000), bytes(DataType::kFloat64, 10'000));
      EXPECT_EQ(bytes(DataType::kInt8, 80'000), bytes(DataType::kBfloat16, 40'000));
      EXPECT_LE(bytes(DataType::kInt8, 80'000), static_cast<uint64_t>(slot));
    }
}

TEST(Choose, LargeMessagesGetLanesAndLargePieces) {
  const Config config;
  for (const Topology& topology : {Topology::flat(8), layout("4+4")})
    for (const uint64_t bytes : {uint64_t{1} << 20, uint64_t{16} << 20, uint64_t{64} << 20}) {
      const Choice choice = choice_of(all_reduce(bytes), topology, config);
      EXPECT_EQ(choice.lanes, 4);
      EXPECT_GE(choice.piece * 2, 32u << 10) << format(topology) << bytes;
      EXPECT_LE(choice.piece * 2, static_cast<uint64_t>(config.slot_bytes));
    }
  EXPECT_EQ(choice_of(all_reduce(1 << 10), Topology::flat(8)).lanes, 1);
}

TEST(Choose, TheSettingOfLanesIsKept) {
  Config config;
  config.lanes = 7;
  EXPECT_EQ(choice_of(all_reduce(64), Topology::flat(2), config).lanes, 7);
}

// Whatever is chosen can be planned and is right; the counts are real ones.
TEST(Choose, EveryChoiceIsProved) {
  for (const char* text :
       {"1 rank", "2 ranks", "5 ranks", "18 ranks", "4+4", "7+8", "1+3", "2+2+2"})
    for (int i = 0; i < kCollectiveCount; ++i) {
      const auto collective = static_cast<Collective>(i);
      if (collective == Collective::kSend || collective == Collective::kReceive) continue;
      for (const uint64_t count : {0, 1, 1000, 40'001, 1'000'003}) {
        const Request request{.collective = collective, .count = count, .root = 0};
        const Choice choice = choice_of(request, layout(text));
        const Status status = verify_collective(request, layout(text), choice);
        ASSERT_TRUE(status.ok()) << describe(request, layout(text), choice) << ": "
                                 << status.message();
        ASSERT_FALSE(choice.reason.empty());
      }
    }
}

TEST(MakePlan, RefusesWhatCannotBe) {
  const Topology topology = Topology::flat(2);
  const Choice ring{.algorithm = Algorithm::kRing, .lanes = 1, .piece = 1, .reason = {}};
  const auto message = [&](const Request& request, const Choice& choice, int rank) {
    const Result<Plan> plan = make_plan(request, topology, choice, rank);
    return plan.ok() ? "" : plan.status().message();
  };
  EXPECT_EQ(message({}, ring, 2), "all_reduce: rank 2 is not one of 2 ranks; give 0 to 1");
  EXPECT_EQ(message({.collective = Collective::kBroadcast, .root = -1}, ring, 0),
            "broadcast: root or peer -1 is not one of 2 ranks; give 0 to 1");
  EXPECT_EQ(message({.collective = Collective::kGather}, ring, 0),
            "gather has no algorithm ring; let STRAIT_ALGO be auto");
  EXPECT_THAT(message({}, {.lanes = 0, .reason = {}}, 0), HasSubstr("both must be 1 or more"));
  EXPECT_THAT(message({}, {.piece = 0, .reason = {}}, 0), HasSubstr("both must be 1 or more"));
}

}  // namespace
}  // namespace strait::plan_test
