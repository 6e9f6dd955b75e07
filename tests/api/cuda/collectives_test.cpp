// NCCL's collectives on GPUs: the bits are those of ranks on hosts, in one domain and between
// domains, compressed and not, in every shape of plan.
#include "api/cuda/drawn_case.hpp"
#include "strait.h"

namespace strait::test {
namespace {

TEST(GpuCollectives, EachHasTheHostsBits) {
  for (int collective = 0; collective < 8; ++collective)
    expect_same_bits(
        {.request = request_of(static_cast<Collective>(collective), DataType::kFloat32, 3000),
         .ranks = 3});
}

TEST(GpuCollectives, BetweenDomainsTooCompressedOrNot) {
  for (const DataType type :
       {DataType::kFloat16, DataType::kBfloat16, DataType::kFloat32, DataType::kFloat64,
        DataType::kFloat8e4m3, DataType::kFloat8e5m2, DataType::kInt32})
    for (const char* compress : {"off", "fast", "dense"})
      expect_same_bits({.request = request_of(Collective::kAllReduce, type, 30'000),
                        .ranks = 4,
                        .settings = {{"STRAIT_EMULATE_DOMAINS", "2"},
                                     {"STRAIT_COMPRESS", compress},
                                     {"STRAIT_CHECKSUM", compress[0] == 'd' ? "on" : "off"}}});
  for (int collective = 0; collective < 8; ++collective)
    expect_same_bits(
        {.request = request_of(static_cast<Collective>(collective), DataType::kBfloat16, 9000),
         .op = ncclMax,
         .ranks = 4,
         .settings = {{"STRAIT_EMULATE_DOMAINS", "1"}}});
  for (int collective = 0; collective < 8; ++collective)
    expect_same_bits(
        {.request = request_of(static_cast<Collective>(collective), DataType::kBfloat16, 9000),
         .ranks = 5,
         .settings = {{"STRAIT_EMULATE_DOMAINS", "2"}}});
}

// Between domains kernels fill and empty the slots of links; where these cannot be pinned, at one
// end or at both, values are copied on their way, and the results are the same.
TEST(GpuCollectives, LinksSlotsArePinnedOrCopied) {
  for (const DataType type : {DataType::kFloat32, DataType::kInt32})
    for (const char* failures : {"", "cuMemHostRegister:1=1", "cuMemHostRegister:*=1"}) {
      SCOPED_TRACE(failures);
      standin::fail(failures);
      expect_same_bits({.request = request_of(Collective::kAllReduce, type, 30'000),
                        .ranks = 4,
                        .settings = {{"STRAIT_EMULATE_DOMAINS", "2"}}});
      EXPECT_GT(standin::calls_of("cuMemHostRegister"), 0U);
      standin::fail("");
    }
}

uint64_t wire_bytes(ncclComm_t comm) {
  straitCommStats_t stats{};
  stats.size = sizeof stats;
  EXPECT_NCCL(straitCommGetStats(comm, &stats));
  return stats.coded_wire_bytes_sent;
}

// Bytes that rank 0 sends to the other domain for one sum of bfloat16 values, when `calls` others
// were made before it.
uint64_t bytes_of_a_sum(Settings settings, int calls, const ncclCollConfig_t* config = nullptr) {
  constexpr size_t kCount = 40'000;
  settings["STRAIT_EMULATE_DOMAINS"] = "1";
  uint64_t bytes = 0;
  run_gpus(2, 2, settings, [&](int rank, GpuRank& gpu, ncclComm_t comm) {
    std::mt19937 random(static_cast<uint32_t>(rank));
    std::normal_distribution<double> normal;
    Bytes values(2 * kCount);
    for (size_t i = 0; i < kCount; ++i)
      put_value(normal(random), DataType::kBfloat16, &values[2 * i]);
    const cuda::DeviceMemory in = gpu.memory(values), out = gpu.memory(values);
    uint64_t before = 0;
    for (int i = 0; i <= calls; ++i) {
      before = wire_bytes(comm);
      EXPECT_NCCL(ncclAllReduceConfig(in.data(), out.data(), kCount, ncclBfloat16, ncclSum, comm,
                                      gpu.stream(), config));
      EXPECT_DONE(gpu.wait());
      // The last chunk may still be on its way through the proxy.
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    if (rank == 0) bytes = wire_bytes(comm) - before;
  });
  return bytes;
}

TEST(GpuCollectives, EachCallMayChooseItsCompression) {
  const auto with = [](int value) {
    ncclConfigExt_t option = {nullptr, {STRAIT_VENDOR_ID, STRAIT_OPTION_COMPRESS}, {value}};
    ncclCollConfig_t config = NCCL_COLLCONFIG_INITIALIZER;
    config.ext = &option;
    return bytes_of_a_sum({}, 0, &config);
  };
  const uint64_t plain = with(STRAIT_COMPRESS_OFF), fast = with(STRAIT_COMPRESS_FAST);
  EXPECT_GT(plain, 80'000U);
  EXPECT_LT(fast, plain * 3 / 4);
  EXPECT_LT(with(STRAIT_COMPRESS_DENSE), fast * 99 / 100);
}

// A kernel tells how long it encoded, the link what it carries: what the mode of the next chunk
// follows from, as on hosts. The SIMT layer is slow, so the link is much slower.
TEST(GpuCollectives, TheModeFollowsTheLinkWhereItIsFree) {
  const uint64_t fast = bytes_of_a_sum({{"STRAIT_COMPRESS", "fast"}}, 0);
  const uint64_t dense = bytes_of_a_sum({{"STRAIT_COMPRESS", "dense"}}, 0);
  const Settings slow = {{"STRAIT_COMPRESS", "auto"}, {"STRAIT_LINK_RATE", "8mbit"}};
  EXPECT_EQ(bytes_of_a_sum(slow, 0), fast);
  EXPECT_EQ(bytes_of_a_sum(slow, 12), dense);
}

// Kernels make the very chunks of the hosts' codec.
TEST(GpuCollectives, AsManyBytesCrossAsBetweenHosts) {
  const Case what{.request = request_of(Collective::kAllReduce, DataType::kBfloat16, 30'000),
                  .ranks = 4,
                  .settings = {{"STRAIT_EMULATE_DOMAINS", "2"}, {"STRAIT_COMPRESS", "dense"}}};
  const auto sent = [](ncclComm_t comm) {
    straitCommStats_t stats{};
    stats.size = sizeof stats;
    EXPECT_NCCL(straitCommGetStats(comm, &stats));
    return std::pair(stats.coded_value_bytes_sent, stats.coded_wire_bytes_sent);
  };
  std::array<std::pair<uint64_t, uint64_t>, 4> hosts;
  Settings settings = what.settings;
  settings["STRAIT_DEVICE"] = "host";
  run_world(what.ranks, settings, [&](int rank, ncclComm_t comm) {
    Bytes memory = memory_of(what, rank);
    EXPECT_NCCL(call_with_operation(what, memory.data(), rank, nullptr, comm, nullptr));
    hosts[static_cast<size_t>(rank)] = sent(comm);
  });
  run_gpus(what.ranks, 4, what.settings, [&](int rank, GpuRank& gpu, ncclComm_t comm) {
    on_gpu(what, rank, gpu, comm);
    // The last chunk may still be on its way through the proxy.
    for (int look = 0; look < 2000 && sent(comm) != hosts[static_cast<size_t>(rank)]; ++look)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(sent(comm), hosts[static_cast<size_t>(rank)]);
  });
  EXPECT_GT(hosts[0].first, hosts[0].second);
}

TEST(GpuCollectives, EveryTypeAndOperation) {
  for (int type = 0; type < ncclNumTypes; ++type)
    for (const ncclRedOp_t op : {ncclSum, ncclProd, ncclMax, ncclMin, ncclAvg})
      expect_same_bits(
          {.request = request_of(Collective::kAllReduce, static_cast<DataType>(type), 500),
           .op = op});
}

TEST(GpuCollectives, FactorsOfTheUserFromTheHostAndFromTheDevice) {
  for (int type = 0; type < ncclNumTypes; ++type)
    for (const Scalar scalar : {Scalar::kHost, Scalar::kDevice})
      expect_same_bits(
          {.request = request_of(Collective::kReduceScatter, static_cast<DataType>(type), 300),
           .ranks = 3,
           .scalar = scalar});
}

// One rank: a copy, or the average or product of one.
TEST(GpuCollectives, OfOneRank) {
  for (int collective = 0; collective < 8; ++collective)
    for (const bool in_place : {false, true})
      for (const Scalar scalar : {Scalar::kNone, Scalar::kDevice})
        expect_same_bits(
            {.request = request_of(static_cast<Collective>(collective), DataType::kFloat16, 700, 0),
             .op = ncclAvg,
             .ranks = 1,
             .in_place = in_place,
             .scalar = scalar});
}

TEST(GpuCollectives, DrawnByLotHaveTheHostsBits) {
  for (uint64_t seed = 1; seed <= 160; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    expect_same_bits(draw_case(seed));
    if (testing::Test::HasFailure()) return;
  }
}

// Inside a domain kernels write into each other's memory: it works although every link of the hosts
// breaks at the first message after those that open it.
TEST(GpuCollectives, InADomainNothingGoesThroughTheHost) {
  run_gpus(3, 3, {{"STRAIT_FAULT", "cut_after=1"}}, [](int, GpuRank& gpu, ncclComm_t comm) {
    const cuda::DeviceMemory buffer = gpu.memory(Bytes(40'000, std::byte{1}));
    ASSERT_EQ(
        ncclAllReduce(buffer.data(), buffer.data(), 10'000, ncclInt32, ncclSum, comm, gpu.stream()),
        ncclSuccess);
    ASSERT_TRUE(gpu.wait().ok());
    ncclResult_t failure = ncclInternalError;
    EXPECT_EQ(ncclCommGetAsyncError(comm, &failure), ncclSuccess);
    EXPECT_EQ(failure, ncclSuccess) << ncclGetLastError(comm);
    EXPECT_EQ(gpu.read(buffer, 40'000), Bytes(40'000, std::byte{3}));
  });
}

}  // namespace
}  // namespace strait::test
