// Sends and receives on GPUs: they pair in order, whatever their types and sizes, with others and
// with oneself; one thread may have several ranks.
#include <gmock/gmock.h>

#include <barrier>

#include "api/cuda/gpu_rank.hpp"

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
