// The simulator against what can be worked out by hand.
#include "plan/simulator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "plan/cases.hpp"

namespace strait::plan_test {
namespace {

constexpr uint64_t kMega = 1'000'000;

Simulation run(const Request& request, const Topology& topology, const Choice& choice,
               const Speeds& speeds, int slots = 0) {
  return simulate(make_calls(request, topology, choice), topology, speeds, slots).value();
}

Choice with(Algorithm algorithm, int lanes, uint64_t piece) {
  return {.algorithm = algorithm, .lanes = lanes, .piece = piece, .reason = {}};
}

Request floats(Collective collective, uint64_t count) {
  return {.collective = collective, .type = DataType::kFloat32, .count = count};
}

// A byte takes 1/rate ns: 1000 bytes at 1 GB/s take 1 us.
TEST(Simulator, AMessageTakesLatencyAndBytes) {
  const Simulation simulation =
      run(floats(Collective::kBroadcast, 1000), Topology::flat(2),
          with(Algorithm::kDirect, 1, 1000), {.inside_latency_us = 3, .inside_rate = 2});
  EXPECT_DOUBLE_EQ(simulation.total_us, 3 + 4000 / 2e3);
  EXPECT_DOUBLE_EQ(simulation.inside_busy_us, 2);
  EXPECT_DOUBLE_EQ(simulation.inside_bytes, 4000);
  EXPECT_DOUBLE_EQ(simulation.ranks[1].message_wait_us, 5);
  EXPECT_DOUBLE_EQ(simulation.longest_wait_us, 5);
  EXPECT_EQ(simulation.longest_wait_at, "rank 1, lane 0, step 0 (recv 0 -> output[0] x1000)");
}

TEST(Simulator, RingAllReduceIsTwiceRoundTheRing) {
  for (const int ranks : {2, 3, 8}) {
    const uint64_t block = 1024;  // parts start even, so that all are equal
    const Request request = floats(Collective::kAllReduce, block * static_cast<uint64_t>(ranks));
    const Speeds speeds{.inside_latency_us = 5, .inside_rate = 1};
    const double hop = 5 + 4.0 * static_cast<double>(block) / 1e3;
    EXPECT_NEAR(
        run(request, Topology::flat(ranks), with(Algorithm::kRing, 1, block), speeds).total_us,
        2 * (ranks - 1) * hop, 1e-6);
    // Rounds follow one another in a lane; each pays its hops.
    EXPECT_NEAR(
        run(request, Topology::flat(ranks), with(Algorithm::kRing, 1, block / 4), speeds).total_us,
        4 * 2 * (ranks - 1) * (5 + static_cast<double>(block) / 1e3), 1e-6);
  }
}

TEST(Simulator, AChainFillsAndThenStreams) {
  const uint64_t piece = 10'000;
  const int rounds = 100;
  const Speeds speeds{.inside_latency_us = 1, .inside_rate = 1, .memory_rate = 1};
  const double stage = 4.0 * static_cast<double>(piece) / 1e3;
  const Simulation simulation = run(floats(Collective::kBroadcast, piece * rounds),
                                    Topology::flat(4), with(Algorithm::kRing, 1, piece), speeds, 4);
  // 4 engines and 3 pipes, one piece each per stage.
  EXPECT_NEAR(simulation.total_us, (rounds + 6) * stage + 3, 0.01 * simulation.total_us);
}

TEST(Simulator, TwoRacksAreBoundByTheirUplinks) {
  const Request request{
      .collective = Collective::kAllReduce, .type = DataType::kBfloat16, .count = 8 * kMega};
  const Topology racks = layout("4+4");
  const Choice choice = choose(request, racks, Config()).value();
  ASSERT_EQ(choice.algorithm, Algorithm::kHierarchical);
  Speeds speeds{.inside_latency_us = 5,
                .inside_rate = 5,
                .between_latency_us = 100,
                .uplink_rate = 0.25,
                .memory_rate = 4,
                .codec_rate = 2};
  // Each rack sends half of the data as partial sums and half as results.
  const double bound_us = 16.0 * kMega / 0.25 * 1e-3;
  const Simulation plain = run(request, racks, choice, speeds, 4);
  EXPECT_NEAR(plain.between_bytes, 2 * 16.0 * kMega, 1);
  EXPECT_NEAR(plain.uplink_busy_us, bound_us, 1);
  EXPECT_GE(plain.total_us, bound_us);
  EXPECT_LE(plain.total_us, 1.05 * bound_us);
  speeds.coded_share = 0.7;
  const Simulation coded = run(request, racks, choice, speeds, 4);
  EXPECT_NEAR(coded.between_bytes, 0.7 * plain.between_bytes, 1);
  EXPECT_NEAR(coded.total_us, 0.7 * plain.total_us, 0.05 * plain.total_us);
  EXPECT_GT(coded.ranks[0].message_wait_us, coded.ranks[0].engine_wait_us);
}

// The least that can be: half of a gather's data crosses each way, all of a broadcast's one way.
TEST(Simulator, TheOthersReachTheirUplinksBoundToo) {
  const Topology racks = layout("4+4");
  const Speeds speeds{.inside_latency_us = 5,
                      .inside_rate = 5,
                      .between_latency_us = 100,
                      .uplink_rate = 0.25,
                      .memory_rate = 4,
                      .codec_rate = 2};
  for (const auto& [collective, count, crossing] :
       {std::tuple{Collective::kAllGather, kMega, 4 * kMega},
        {Collective::kReduceScatter, kMega, 4 * kMega},
        {Collective::kBroadcast, 8 * kMega, 8 * kMega},
        {Collective::kReduce, 8 * kMega, 8 * kMega}}) {
    const Request request = floats(collective, count);
    const Choice choice = choose(request, racks, Config()).value();
    ASSERT_EQ(choice.algorithm, Algorithm::kHierarchical);
    const Simulation simulation = run(request, racks, choice, speeds, 4);
    const double bound_us = 4.0 * static_cast<double>(crossing) / 0.25 * 1e-3;
    EXPECT_NEAR(simulation.uplink_busy_us, bound_us, 1) << name_of(collective);
    EXPECT_LE(simulation.total_us, 1.05 * bound_us) << name_of(collective);
  }
}

TEST(Simulator, LanesOverlapWaitingWithWork) {
  const Request request = floats(Collective::kAllReduce, kMega);
  const Speeds speeds{.inside_latency_us = 20, .inside_rate = 10, .memory_rate = 10};
  const auto total = [&](int lanes) {
    return run(request, Topology::flat(4), with(Algorithm::kTwoShot, lanes, 8000), speeds, 4)
        .total_us;
  };
  EXPECT_LT(total(2), 0.75 * total(1));
  EXPECT_LT(total(4), total(2));
}

TEST(Simulator, MoreSlotsNeverHurt) {
  const Request request = floats(Collective::kBroadcast, kMega);
  const Speeds speeds{.inside_latency_us = 50, .inside_rate = 1};
  double before = 1e9;
  for (const int slots : {1, 2, 4, 8}) {
    const Simulation simulation =
        run(request, Topology::flat(3), with(Algorithm::kRing, 1, 4000), speeds, slots);
    EXPECT_LE(simulation.total_us, before);
    before = simulation.total_us;
  }
  EXPECT_NEAR(before, 4000, 300);  // full rate
}

TEST(Simulator, WhatIsForwardedCodedIsNotCodedAgain) {
  // Three racks of one: each finished block is encoded by its owner and decoded by the two others.
  const Speeds speeds{.codec_rate = 1};
  const Request request = floats(Collective::kAllReduce, 3072);
  const Simulation simulation =
      run(request, layout("1+1+1"), with(Algorithm::kHierarchical, 1, 1024), speeds);
  // Per rank, in blocks of 4.096 us: encode 2 partial sums and the own result; decode 2 and 2.
  for (const RankTimes& times : simulation.ranks) EXPECT_NEAR(times.busy_us, 7 * 4.096, 1e-6);
}

TEST(Simulator, AHangIsAnError) {
  const Topology topology = Topology::flat(3);
  std::vector<Call> calls =
      make_calls(floats(Collective::kAllReduce, 30), topology, with(Algorithm::kRing, 1, 4));
  for (Call& call : calls) call.plan.slots_min = 1;
  const Result<Simulation> simulation = simulate(calls, topology, {});
  ASSERT_FALSE(simulation.ok());
  EXPECT_THAT(simulation.status().message(), testing::HasSubstr("waits for ever"));
}

TEST(Simulator, AThousandRanksAreQuick) {
  const Request request = floats(Collective::kAllReduce, kMega);
  const Topology racks = synthetic("32 racks x 32 ranks").value();
  const Simulation simulation =
      run(request, racks, with(Algorithm::kTree, 2, 100'000),
          {.inside_latency_us = 2, .inside_rate = 50, .between_latency_us = 5, .uplink_rate = 100});
  EXPECT_GT(simulation.total_us, 0);
  EXPECT_EQ(simulation.ranks.size(), 1024u);
}

}  // namespace
}  // namespace strait::plan_test
