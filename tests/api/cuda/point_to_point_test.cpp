// Sends and receives on GPUs: they pair in order, whatever their types and sizes, with others and
// with oneself; one thread may have several ranks.
#include <gmock/gmock.h>

#include <barrier>

#include "api/cuda/gpu_case.hpp"
#include "strait.h"

namespace strait::test {
namespace {

using testing::Each;
using testing::HasSubstr;

constexpr size_t kWords = 2000;

TEST(GpuPointToPoint, SeveralToOnePeerKeepTheirOrder) {
  run_gpus(2, 2, {}, [](int rank, GpuRank& gpu, ncclComm_t comm) {
    constexpr int kMessages = 20;
    std::vector<cuda::DeviceMemory> sent;
    std::vector<cuda::DeviceMemory> received;
    for (int i = 0; i < kMessages; ++i) {
      const auto count = static_cast<size_t>(1 + i * 97);
      sent.push_back(gpu.words(count, static_cast<uint32_t>(100 * rank + i)));
      received.push_back(gpu.words(count, 0));
    }
    for (int turn = 0; turn < 3; ++turn) {
      EXPECT_NCCL(ncclGroupStart());
      for (int i = 0; i < kMessages; ++i) {
        const auto at = static_cast<size_t>(i);
        // The same bytes by another name on the other side.
        const bool words = (i + rank) % 2 == 0;
        const size_t count = words ? sent[at].bytes() / 4 : sent[at].bytes();
        const ncclDataType_t type = words ? ncclUint32 : ncclUint8;
        EXPECT_NCCL(ncclSend(sent[at].data(), count, type, 1 - rank, comm, gpu.stream()));
        EXPECT_NCCL(ncclRecv(received[at].data(), count, type, 1 - rank, comm, gpu.stream()));
      }
      EXPECT_NCCL(ncclGroupEnd());
    }
    EXPECT_DONE(gpu.wait());
    for (int i = 0; i < kMessages; ++i)
      EXPECT_THAT(gpu.words_in(received[static_cast<size_t>(i)]),
                  Each(static_cast<uint32_t>(100 * (1 - rank) + i)));
  });
}

TEST(GpuPointToPoint, OutsideOfAGroupOneAfterTheOther) {
  run_gpus(2, 2, {}, [](int rank, GpuRank& gpu, ncclComm_t comm) {
    const auto words = gpu.words(kWords, static_cast<uint32_t>(7 + rank));
    for (int turn = 0; turn < 5; ++turn)
      EXPECT_NCCL(rank == turn % 2
                      ? ncclSend(words.data(), kWords, ncclUint32, 1 - rank, comm, gpu.stream())
                      : ncclRecv(words.data(), kWords, ncclUint32, 1 - rank, comm, gpu.stream()));
    EXPECT_DONE(gpu.wait());
    EXPECT_THAT(gpu.words_in(words), Each(7U));
  });
}

// In one group, each pair of ranks has a count of its own, and each message its type.
TEST(GpuPointToPoint, EachPairHasItsOwnCount) {
  constexpr int kRanks = 4;
  const auto count = [](int from, int to) { return static_cast<size_t>(100 * from + 7 * to); };
  const auto type = [](int from, int to) { return (from + to) % 2 == 0 ? ncclUint32 : ncclInt; };
  run_gpus(
      kRanks, 4, {{"STRAIT_EMULATE_DOMAINS", "2"}}, [&](int rank, GpuRank& gpu, ncclComm_t comm) {
        const auto in = gpu.words(1000, static_cast<uint32_t>(rank + 1));
        std::vector<cuda::DeviceMemory> out;
        EXPECT_NCCL(ncclGroupStart());
        for (int peer = 0; peer < kRanks; ++peer) {
          out.push_back(gpu.words(1000, 0));
          EXPECT_NCCL(
              ncclSend(in.data(), count(rank, peer), type(rank, peer), peer, comm, gpu.stream()));
          EXPECT_NCCL(ncclRecv(out.back().data(), count(peer, rank), type(peer, rank), peer, comm,
                               gpu.stream()));
        }
        EXPECT_NCCL(ncclGroupEnd());
        EXPECT_DONE(gpu.wait());
        for (int peer = 0; peer < kRanks; ++peer) {
          auto words = gpu.words_in(out[static_cast<size_t>(peer)]);
          const auto end = words.begin() + static_cast<ptrdiff_t>(count(peer, rank));
          EXPECT_THAT(std::vector(words.begin(), end), Each(static_cast<uint32_t>(peer + 1)));
          EXPECT_THAT(std::vector(end, words.end()), Each(0U));
        }
      });
}

constexpr std::array kCodedTypes = {ncclFloat16,    ncclBfloat16,   ncclFloat32, ncclFloat64,
                                    ncclFloat8e4m3, ncclFloat8e5m2, ncclInt32};

// Values of a narrow range, which become smaller; not a whole number of blocks.
Bytes values_of(ncclDataType_t type, int seed) {
  Bytes values(20'011 * size_of(static_cast<DataType>(type)));
  std::mt19937 random(static_cast<uint32_t>(seed));
  for (size_t at = 0; at < values.size(); at += size_of(static_cast<DataType>(type)))
    put_value(static_cast<double>(random() % 8), static_cast<DataType>(type), &values[at]);
  return values;
}

std::pair<uint64_t, uint64_t> coded_bytes(ncclComm_t comm) {
  straitCommStats_t stats{};
  stats.size = sizeof stats;
  EXPECT_NCCL(straitCommGetStats(comm, &stats));
  return {stats.coded_value_bytes_sent, stats.coded_wire_bytes_sent};
}

// One group with all types, to the same domain and to the other; some are received by another name.
void exchange_all_types(const Settings& settings) {
  run_gpus(4, 4, settings, [](int rank, GpuRank& gpu, ncclComm_t comm) {
    std::vector<cuda::DeviceMemory> sent, received;
    std::vector<Bytes> expected;
    uint64_t leaving = 0;
    EXPECT_NCCL(ncclGroupStart());
    for (int peer = 0; peer < 4; ++peer)
      for (const ncclDataType_t type : kCodedTypes) {
        if (peer == rank) continue;
        const Bytes values = values_of(type, 100 * rank + 10 * peer + type);
        expected.push_back(values_of(type, 100 * peer + 10 * rank + type));
        sent.push_back(gpu.memory(values));
        received.push_back(gpu.memory(Bytes(values.size())));
        if (peer / 2 != rank / 2) leaving += values.size();
        EXPECT_NCCL(ncclSend(sent.back().data(),
                             values.size() / size_of(static_cast<DataType>(type)), type, peer, comm,
                             gpu.stream()));
        EXPECT_NCCL((peer + rank) % 2 == 0
                        ? ncclRecv(received.back().data(), values.size(), ncclUint8, peer, comm,
                                   gpu.stream())
                        : ncclRecv(received.back().data(),
                                   values.size() / size_of(static_cast<DataType>(type)), type, peer,
                                   comm, gpu.stream()));
      }
    EXPECT_NCCL(ncclGroupEnd());
    EXPECT_DONE(gpu.wait());
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_TRUE(gpu.read(received[i], expected[i].size()) == expected[i]) << "message " << i;
    // The last chunk may still be on its way through the proxy.
    for (int look = 0; look < 2000 && coded_bytes(comm).first < leaving; ++look)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const auto [value_bytes, wire_bytes] = coded_bytes(comm);
    EXPECT_EQ(value_bytes, leaving);
    EXPECT_LT(wire_bytes, leaving * 3 / 4);
  });
}

TEST(GpuPointToPoint, KernelsCodeEachTypeBetweenDomains) {
  for (const char* compress : {"fast", "dense"})
    exchange_all_types({{"STRAIT_EMULATE_DOMAINS", "2"},
                        {"STRAIT_COMPRESS", compress},
                        {"STRAIT_CHECKSUM", compress[0] == 'd' ? "on" : "off"}});
}

// The same where links have no slots that kernels can fill, and with one block for each direction.
TEST(GpuPointToPoint, CodedMessagesMayBeCopiedOnTheirWay) {
  standin::fail("cuMemHostRegister:*=1");
  exchange_all_types({{"STRAIT_EMULATE_DOMAINS", "2"}, {"NCCL_MAX_CTAS", "1"}});
  EXPECT_GT(standin::calls_of("cuMemHostRegister"), 0U);
  standin::fail("");
}

// What differs is told with the sizes of that message.
TEST(GpuPointToPoint, AWrongCountAmongOthersIsNamed) {
  std::barrier seen(2);
  meet_on_gpus(2, 2, {}, [&](int rank, GpuRank& gpu, ncclComm_t comm) {
    const auto words = gpu.words(1000, 1);
    EXPECT_NCCL(ncclGroupStart());
    for (const size_t count : {size_t{10}, size_t{20}, size_t{rank == 0 ? 30U : 31U}})
      EXPECT_NCCL(rank == 0 ? ncclSend(words.data(), count, ncclUint32, 1, comm, gpu.stream())
                            : ncclRecv(words.data(), count, ncclUint32, 0, comm, gpu.stream()));
    EXPECT_NCCL(ncclGroupEnd());
    ncclResult_t state = ncclSuccess;
    const Deadline deadline = Deadline::after_ms(20'000);
    while (state == ncclSuccess && rank == 1 && !deadline.passed())
      EXPECT_NCCL(ncclCommGetAsyncError(comm, &state));
    if (rank == 1) {
      EXPECT_EQ(state, ncclInvalidUsage);
      EXPECT_THAT(ncclGetLastError(comm), HasSubstr("send/receive of 120 bytes where this rank "
                                                    "calls send/receive of 124 bytes"));
    }
    seen.arrive_and_wait();
    EXPECT_NCCL(ncclCommAbort(comm));
  });
}

TEST(GpuPointToPoint, NothingIsAMessageToo) {
  run_gpus(2, 2, {}, [](int rank, GpuRank& gpu, ncclComm_t comm) {
    const auto words = gpu.words(kWords, static_cast<uint32_t>(rank));
    EXPECT_NCCL(ncclGroupStart());
    EXPECT_NCCL(ncclSend(nullptr, 0, ncclUint32, 1 - rank, comm, gpu.stream()));
    EXPECT_NCCL(ncclRecv(nullptr, 0, ncclUint32, 1 - rank, comm, gpu.stream()));
    EXPECT_NCCL(ncclAllReduce(nullptr, nullptr, 0, ncclUint32, ncclSum, comm, gpu.stream()));
    EXPECT_NCCL(ncclGroupEnd());
    EXPECT_NCCL(
        ncclAllReduce(words.data(), words.data(), kWords, ncclUint32, ncclSum, comm, gpu.stream()));
    EXPECT_DONE(gpu.wait());
    EXPECT_THAT(gpu.words_in(words), Each(1U));
  });
}

TEST(GpuPointToPoint, WithOneselfInStreamOrder) {
  run_gpus(1, 1, {}, [](int, GpuRank& gpu, ncclComm_t comm) {
    const auto from = gpu.words(kWords, 0);
    const auto to = gpu.words(kWords, 0);
    for (uint32_t turn = 1; turn < 5; ++turn) {
      gpu.fill(from, turn, gpu.handle());
      EXPECT_NCCL(ncclGroupStart());
      EXPECT_NCCL(ncclRecv(to.data(), kWords, ncclUint32, 0, comm, gpu.stream()));
      EXPECT_NCCL(ncclSend(from.data(), kWords * 4, ncclUint8, 0, comm, gpu.stream()));
      EXPECT_NCCL(ncclGroupEnd());
      gpu.add(to, 10, gpu.handle());
      EXPECT_DONE(gpu.wait());
      EXPECT_THAT(gpu.words_in(to), Each(turn + 10));
    }
  });
}

// By sends and receives, as programs do it, beside a collective of the same group.
TEST(GpuPointToPoint, EightRanksExchangeAll) {
  for (const char* domains : {"0", "4"})
    run_gpus(
        8, 4, {{"STRAIT_EMULATE_DOMAINS", domains}}, [](int rank, GpuRank& gpu, ncclComm_t comm) {
          const auto sum = gpu.words(kWords, 1);
          std::vector<cuda::DeviceMemory> sent;
          std::vector<cuda::DeviceMemory> received;
          for (int peer = 0; peer < 8; ++peer) {
            sent.push_back(gpu.words(kWords, static_cast<uint32_t>(10 * rank + peer)));
            received.push_back(gpu.words(kWords, 0));
          }
          for (int turn = 0; turn < 2; ++turn) {
            EXPECT_NCCL(ncclGroupStart());
            for (size_t peer = 0; peer < 8; ++peer) {
              const auto name = static_cast<int>(peer);
              EXPECT_NCCL(
                  ncclSend(sent[peer].data(), kWords, ncclUint32, name, comm, gpu.stream()));
              EXPECT_NCCL(
                  ncclRecv(received[peer].data(), kWords, ncclUint32, name, comm, gpu.stream()));
            }
            EXPECT_NCCL(ncclAllReduce(sum.data(), sum.data(), kWords, ncclUint32, ncclSum, comm,
                                      gpu.stream()));
            EXPECT_NCCL(ncclGroupEnd());
          }
          EXPECT_DONE(gpu.wait());
          for (size_t peer = 0; peer < 8; ++peer)
            EXPECT_THAT(gpu.words_in(received[peer]),
                        Each(static_cast<uint32_t>(10 * static_cast<int>(peer) + rank)));
          EXPECT_THAT(gpu.words_in(sum), Each(64U));
        });
}

TEST(GpuPointToPoint, OneThreadHasAllRanks) {
  std::vector<std::unique_ptr<GpuRank>> gpus;
  std::vector<cuda::DeviceMemory> words;
  std::vector<cuda::DeviceMemory> received;
  for (int device = 0; device < 4; ++device) {
    gpus.push_back(std::make_unique<GpuRank>(device));
    words.push_back(gpus.back()->words(kWords, static_cast<uint32_t>(device)));
    received.push_back(gpus.back()->words(kWords, 0));
  }
  std::array<ncclComm_t, 4> comms{};
  EXPECT_NCCL(ncclCommInitAll(comms.data(), 4, nullptr));
  for (uint32_t turn = 0; turn < 3; ++turn) {
    EXPECT_NCCL(ncclGroupStart());
    for (size_t i = 0; i < 4; ++i) {
      const auto next = static_cast<int>((i + 1) % 4);
      EXPECT_NCCL(ncclSend(words[i].data(), kWords, ncclUint32, next, comms[i], gpus[i]->stream()));
      EXPECT_NCCL(ncclRecv(received[i].data(), kWords, ncclUint32, (next + 2) % 4, comms[i],
                           gpus[i]->stream()));
    }
    EXPECT_NCCL(ncclGroupEnd());
    EXPECT_NCCL(ncclGroupStart());
    for (size_t i = 0; i < 4; ++i)
      EXPECT_NCCL(ncclAllReduce(received[i].data(), received[i].data(), kWords, ncclUint32, ncclSum,
                                comms[i], gpus[i]->stream()));
    EXPECT_NCCL(ncclGroupEnd());
  }
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_DONE(gpus[i]->wait());
    EXPECT_THAT(gpus[i]->words_in(received[i]), Each(0U + 1 + 2 + 3));
    EXPECT_NCCL(ncclCommDestroy(comms[i]));
  }
}

}  // namespace
}  // namespace strait::test
