// What a GPU cannot use is refused: NCCL's code, one sentence with the remedy, and the communicator
// is as good as before.
#include <gmock/gmock.h>

#include <sys/mman.h>

#include "api/cuda/gpu_rank.hpp"

namespace strait::test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

constexpr size_t kWords = 100;

ncclResult_t sum(const void* in, void* out, ncclComm_t comm, cudaStream_t stream) {
  return ncclAllReduce(in, out, kWords, ncclUint32, ncclSum, comm, stream);
}

void expect_refused(const std::function<ncclResult_t()>& call, ncclResult_t code,
                    const testing::Matcher<std::string>& text) {
  const Refusal told = refusal(call);
  EXPECT_EQ(told.result, code);
  EXPECT_THAT(told.text, text);
}

void expect_still_good(GpuRank& gpu, ncclComm_t comm) {
  const auto words = gpu.words(kWords, 1);
  EXPECT_NCCL(sum(words.data(), words.data(), comm, gpu.stream()));
  EXPECT_DONE(gpu.wait());
  EXPECT_THAT(gpu.words_in(words), Each(2U));
}

TEST(GpuBadInput, HostMemoryForAGpu) {
  run_gpus(2, 2, {}, [](int rank, GpuRank& gpu, ncclComm_t comm) {
    const auto words = gpu.words(kWords, 1);
    std::vector<uint32_t> host(kWords);
    expect_refused([&] { return sum(host.data(), words.data(), comm, gpu.stream()); },
                   ncclInvalidArgument,
                   AllOf(HasSubstr("sendbuff"), HasSubstr("host memory"), HasSubstr("register it"),
                         HasSubstr(fmt::format("rank {}", rank))));
    expect_refused([&] { return sum(words.data(), host.data(), comm, gpu.stream()); },
                   ncclInvalidArgument, HasSubstr("recvbuff"));
    EXPECT_EQ(ncclSend(host.data(), kWords, ncclUint32, 1 - rank, comm, gpu.stream()),
              ncclInvalidArgument);
    expect_still_good(gpu, comm);
  });
}

TEST(GpuBadInput, ARefusedCallDropsItsGroupAndNoMore) {
  run_gpus(2, 2, {}, [](int, GpuRank& gpu, ncclComm_t comm) {
    const auto words = gpu.words(kWords, 5);
    std::vector<uint32_t> host(kWords);
    EXPECT_NCCL(ncclGroupStart());
    EXPECT_NCCL(sum(words.data(), words.data(), comm, gpu.stream()));
    EXPECT_EQ(sum(words.data(), host.data(), comm, gpu.stream()), ncclInvalidArgument);
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);
    EXPECT_DONE(gpu.wait());
    EXPECT_THAT(gpu.words_in(words), Each(5U));
    expect_still_good(gpu, comm);
  });
}

TEST(GpuBadInput, PinnedAndManagedHostMemoryIsGood) {
  run_gpus(2, 2, {}, [](int, GpuRank& gpu, ncclComm_t comm) {
    const auto pinned =
        must(cuda::PinnedMemory::allocate(gpu.driver(), gpu.context(), kWords * 4, "a test"));
    cuda::DevicePointer managed = 0;
    EXPECT_DONE(standin::program().cuMemAllocManaged(&managed, kWords * 4, 1));
    auto* const values = reinterpret_cast<uint32_t*>(pinned.data());
    std::fill_n(values, kWords, 3U);
    EXPECT_NCCL(sum(values, reinterpret_cast<void*>(managed), comm, gpu.stream()));
    EXPECT_DONE(gpu.wait());
    EXPECT_EQ(*reinterpret_cast<uint32_t*>(managed), 6U);
    EXPECT_DONE(gpu.driver().cuMemFree(managed));
  });
}

TEST(GpuBadInput, MemoryAndStreamsOfAnotherGpu) {
  const GpuRank other(3);
  const auto foreign = other.words(kWords, 1);
  run_gpus(2, 2, {}, [&](int rank, GpuRank& gpu, ncclComm_t comm) {
    const auto words = gpu.words(kWords, 1);
    expect_refused(
        [&] { return sum(foreign.data(), words.data(), comm, gpu.stream()); }, ncclInvalidArgument,
        AllOf(HasSubstr("is memory of GPU 3"), HasSubstr(fmt::format("on GPU {}", rank))));
    expect_refused([&] { return sum(words.data(), words.data(), comm, other.stream()); },
                   ncclInvalidArgument, HasSubstr("the stream is of GPU 3"));
    expect_still_good(gpu, comm);
  });
}

TEST(GpuBadInput, AStreamOfAnotherContext) {
  run_gpus(2, 2, {}, [](int, GpuRank& gpu, ncclComm_t comm) {
    const standin::Program& program = standin::program();
    const auto words = gpu.words(kWords, 1);
    cuda::ContextHandle context = nullptr;
    EXPECT_DONE(program.cuCtxCreate(&context, 0, 0));
    cuda::StreamHandle stream = nullptr;
    EXPECT_DONE(program.cuStreamCreate(&stream, 0));
    EXPECT_DONE(program.cuCtxSetCurrent(gpu.context()));
    expect_refused([&] { return sum(words.data(), words.data(), comm, as_nccl(stream)); },
                   ncclInvalidArgument, HasSubstr("the stream is of"));
    EXPECT_DONE(program.cuCtxDestroy(context));
    expect_refused([&] { return sum(words.data(), words.data(), comm, as_nccl(stream)); },
                   ncclInvalidArgument, HasSubstr("the stream does not exist any more"));
    expect_still_good(gpu, comm);
  });
}

TEST(GpuBadInput, ABufferThatWasFreedTooEarly) {
  run_gpus(1, 1, {}, [](int, GpuRank& gpu, ncclComm_t comm) {
    void* gone = nullptr;
    {
      const auto words = gpu.words(kWords, 1);
      gone = words.data();
    }
    expect_refused([&] { return sum(gone, gone, comm, gpu.stream()); }, ncclInvalidArgument,
                   HasSubstr("or was freed"));
    const auto words = gpu.words(kWords, 1);
    EXPECT_NCCL(sum(words.data(), words.data(), comm, gpu.stream()));
    EXPECT_DONE(gpu.wait());
  });
}

TEST(GpuBadInput, AFactorThatIsNotOnTheDevice) {
  run_gpus(2, 2, {}, [](int, GpuRank& gpu, ncclComm_t comm) {
    const auto words = gpu.words(kWords, 1);
    uint32_t factor = 2;
    ncclRedOp_t op{};
    EXPECT_NCCL(ncclRedOpCreatePreMulSum(&op, &factor, ncclUint32, ncclScalarDevice, comm));
    expect_refused(
        [&] {
          return ncclAllReduce(words.data(), words.data(), kWords, ncclUint32, op, comm,
                               gpu.stream());
        },
        ncclInvalidArgument, HasSubstr("the scalar"));
    expect_still_good(gpu, comm);
  });
}

TEST(GpuBadInput, DeviceMemoryForAHost) {
  const GpuRank gpu(0);
  const auto words = gpu.words(kWords, 1);
  run_world(2, {{"STRAIT_DEVICE", "host"}}, [&](int rank, ncclComm_t comm) {
    std::vector<uint32_t> host(kWords, 1);
    expect_refused([&] { return sum(words.data(), host.data(), comm, nullptr); },
                   ncclInvalidArgument,
                   AllOf(HasSubstr("sendbuff"), HasSubstr("is memory of GPU 0"),
                         HasSubstr(fmt::format("rank {} of the communicator is on a host", rank))));
    EXPECT_EQ(sum(host.data(), words.data(), comm, nullptr), ncclInvalidArgument);
    EXPECT_NCCL(sum(host.data(), host.data(), comm, nullptr));
    EXPECT_THAT(host, Each(2U));
  });
}

TEST(GpuBadInput, RanksOnGpusAndOnHostsDoNotMeet) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  on_threads(2, [&](int rank) {
    std::unique_ptr<GpuRank> gpu;
    if (rank == 0) gpu = std::make_unique<GpuRank>(0);
    ncclComm_t comm = nullptr;
    EXPECT_NE(ncclCommInitRank(&comm, 2, id, rank), ncclSuccess);
    EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("make a GPU's context current on every rank"));
  });
}

TEST(GpuBadInput, AGpuThatIsNotThere) {
  std::array<ncclComm_t, 2> comms{};
  const std::array<int, 2> devices = {0, 9};
  const GpuRank gpu(0);
  EXPECT_EQ(ncclCommInitAll(comms.data(), 2, devices.data()), ncclInvalidArgument);
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("GPU 9 is asked for but there are 4"));
  // Nothing of it is left: the next group is a group.
  run_gpus(2, 2, {}, [](int, GpuRank& rank, ncclComm_t comm) { expect_still_good(rank, comm); });
}

TEST(GpuBadInput, ThePerThreadStreamForACommunicatorThatWorksInTheBackground) {
  run_gpus(2, 2, {}, [](int, GpuRank& gpu, ncclComm_t comm) {
    const auto words = gpu.words(kWords, 1);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclComm_t child = nullptr;
    ncclResult_t state = ncclCommSplit(comm, 0, 0, &child, &config);
    while (state == ncclInProgress) EXPECT_NCCL(ncclCommGetAsyncError(comm, &state));
    ASSERT_NE(child, nullptr);
    expect_refused(
        [&] { return sum(words.data(), words.data(), child, as_nccl(cuda::per_thread_stream())); },
        ncclInvalidUsage, HasSubstr("give it a stream of your own"));
    EXPECT_NCCL(ncclCommAbort(child));
  });
}

}  // namespace
}  // namespace strait::test
