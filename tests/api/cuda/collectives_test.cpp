// NCCL's calls on GPUs: the bits are those of ranks on hosts, in one domain and between domains,
// compressed and not.
#include <random>

#include "api/cuda/gpu_rank.hpp"
#include "base/types.hpp"
#include "plan/request.hpp"
#include "strait.h"

namespace strait::test {
namespace {

using Bytes = std::vector<std::byte>;

struct Case {
  Collective collective;
  ncclDataType_t type;
  ncclRedOp_t op;
  size_t count;
  int ranks;
  Settings settings;
};

std::string describe(const Case& what) {
  std::string text =
      fmt::format("{} of {} {}, operation {}, {} ranks", name_of(what.collective), what.count,
                  name_of(static_cast<DataType>(what.type)), static_cast<int>(what.op), what.ranks);
  for (const auto& [name, value] : what.settings) text += fmt::format(", {}={}", name, value);
  return text;
}

Request request_of(const Case& what) {
  return {.collective = what.collective,
          .type = static_cast<DataType>(what.type),
          .reduce = ReduceKind::kSum,
          .count = what.count,
          .root = 1};
}

Bytes input_of(const Case& what, int rank) {
  const size_t bytes =
      input_count(request_of(what), rank, what.ranks) * size_of(static_cast<DataType>(what.type));
  Bytes values(bytes);
  std::mt19937 random(static_cast<uint32_t>(rank + 1));
  for (std::byte& value : values) value = static_cast<std::byte>(random() % 64);
  return values;
}

size_t output_bytes(const Case& what, int rank) {
  return output_count(request_of(what), rank, what.ranks) *
         size_of(static_cast<DataType>(what.type));
}

ncclResult_t call(const Case& what, const void* in, void* out, ncclComm_t comm,
                  cudaStream_t stream) {
  switch (what.collective) {
    case Collective::kAllReduce:
      return ncclAllReduce(in, out, what.count, what.type, what.op, comm, stream);
    case Collective::kReduce:
      return ncclReduce(in, out, what.count, what.type, what.op, 1, comm, stream);
    case Collective::kBroadcast:
      return ncclBroadcast(in, out, what.count, what.type, 1, comm, stream);
    case Collective::kAllGather:
      return ncclAllGather(in, out, what.count, what.type, comm, stream);
    case Collective::kReduceScatter:
      return ncclReduceScatter(in, out, what.count, what.type, what.op, comm, stream);
    case Collective::kAllToAll:
      return ncclAlltoAll(in, out, what.count, what.type, comm, stream);
    case Collective::kGather:
      return ncclGather(in, out, what.count, what.type, 1, comm, stream);
    default:
      return ncclScatter(in, out, what.count, what.type, 1, comm, stream);
  }
}

std::vector<Bytes> on_hosts(const Case& what) {
  std::vector<Bytes> outputs(static_cast<size_t>(what.ranks));
  Settings settings = what.settings;
  settings["STRAIT_DEVICE"] = "host";
  run_world(what.ranks, settings, [&](int rank, ncclComm_t comm) {
    const Bytes input = input_of(what, rank);
    Bytes output(output_bytes(what, rank));
    EXPECT_EQ(call(what, input.data(), output.data(), comm, nullptr), ncclSuccess)
        << ncclGetLastError(comm);
    outputs[static_cast<size_t>(rank)] = std::move(output);
  });
  return outputs;
}

std::vector<Bytes> on_gpus(const Case& what) {
  std::vector<Bytes> outputs(static_cast<size_t>(what.ranks));
  run_gpus(what.ranks, 4, what.settings, [&](int rank, GpuRank& gpu, ncclComm_t comm) {
    const cuda::DeviceMemory input = gpu.memory(input_of(what, rank));
    const cuda::DeviceMemory output = gpu.memory(output_bytes(what, rank));
    EXPECT_EQ(call(what, input.data(), output.data(), comm, gpu.stream()), ncclSuccess)
        << ncclGetLastError(comm);
    const Status done = gpu.wait();
    EXPECT_TRUE(done.ok()) << done.message();
    outputs[static_cast<size_t>(rank)] = gpu.read(output, output_bytes(what, rank));
  });
  return outputs;
}

void expect_same_bits(const Case& what) {
  SCOPED_TRACE(describe(what));
  const auto expected = on_hosts(what);
  const auto found = on_gpus(what);
  for (int rank = 0; rank < what.ranks; ++rank)
    ASSERT_EQ(found[static_cast<size_t>(rank)], expected[static_cast<size_t>(rank)])
        << "rank " << rank;
}

constexpr std::array kCollectives = {Collective::kAllReduce,     Collective::kReduce,
                                     Collective::kBroadcast,     Collective::kAllGather,
                                     Collective::kReduceScatter, Collective::kAllToAll,
                                     Collective::kGather,        Collective::kScatter};

TEST(GpuCollectives, EachHasTheHostsBits) {
  for (const Collective collective : kCollectives)
    expect_same_bits({collective, ncclFloat32, ncclSum, 3000, 3, {}});
}

TEST(GpuCollectives, BetweenDomainsTooCompressedOrNot) {
  for (const ncclDataType_t type : {ncclFloat16, ncclBfloat16, ncclFloat32, ncclFloat64,
                                    ncclFloat8e4m3, ncclFloat8e5m2, ncclInt32})
    for (const char* compress : {"off", "fast", "dense"})
      expect_same_bits({Collective::kAllReduce,
                        type,
                        ncclSum,
                        30'000,
                        4,
                        {{"STRAIT_EMULATE_DOMAINS", "2"},
                         {"STRAIT_COMPRESS", compress},
                         {"STRAIT_CHECKSUM", compress[0] == 'd' ? "on" : "off"}}});
  for (const Collective collective : kCollectives)
    expect_same_bits(
        {collective, ncclBfloat16, ncclMax, 9000, 4, {{"STRAIT_EMULATE_DOMAINS", "1"}}});
}

// Kernels make the very chunks of the hosts' codec.
TEST(GpuCollectives, AsManyBytesCrossAsBetweenHosts) {
  const Case what{Collective::kAllReduce,
                  ncclBfloat16,
                  ncclSum,
                  30'000,
                  4,
                  {{"STRAIT_EMULATE_DOMAINS", "2"}, {"STRAIT_COMPRESS", "dense"}}};
  const auto sent = [](ncclComm_t comm) {
    straitCommStats_t stats{};
    stats.size = sizeof stats;
    EXPECT_EQ(straitCommGetStats(comm, &stats), ncclSuccess);
    return std::pair(stats.coded_value_bytes_sent, stats.coded_wire_bytes_sent);
  };
  std::array<std::pair<uint64_t, uint64_t>, 4> hosts;
  Settings settings = what.settings;
  settings["STRAIT_DEVICE"] = "host";
  run_world(what.ranks, settings, [&](int rank, ncclComm_t comm) {
    const Bytes input = input_of(what, rank);
    Bytes output(output_bytes(what, rank));
    EXPECT_EQ(call(what, input.data(), output.data(), comm, nullptr), ncclSuccess);
    hosts[static_cast<size_t>(rank)] = sent(comm);
  });
  run_gpus(what.ranks, 4, what.settings, [&](int rank, GpuRank& gpu, ncclComm_t comm) {
    const cuda::DeviceMemory input = gpu.memory(input_of(what, rank));
    const cuda::DeviceMemory output = gpu.memory(output_bytes(what, rank));
    EXPECT_EQ(call(what, input.data(), output.data(), comm, gpu.stream()), ncclSuccess);
    ASSERT_TRUE(gpu.wait().ok());
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
      expect_same_bits({Collective::kAllReduce, static_cast<ncclDataType_t>(type), op, 500, 2, {}});
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
