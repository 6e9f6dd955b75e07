// Every call of the driver that a communicator makes fails once, on one of two ranks: that rank
// says which call and why, the other ends too, nothing hangs and nothing is left behind.
#include <gmock/gmock.h>

#include <set>

#include "api/cuda/gpu_rank.hpp"
#include "base/clock.hpp"

namespace strait::test {
namespace {

using testing::HasSubstr;

constexpr size_t kWords = 500;
const Settings kSoon = {{"STRAIT_TIMEOUT_MS", "400"}, {"STRAIT_INIT_TIMEOUT_MS", "3000"}};

// What they refuse while something ends can only be logged; how often a wait asks is chance.
const std::set<std::string> kReleases = {"cuCtxPopCurrent",     "cuDevicePrimaryCtxRelease",
                                         "cuEventDestroy",      "cuMemAddressFree",
                                         "cuMemFree",           "cuMemFreeHost",
                                         "cuMemRelease",        "cuMemUnmap",
                                         "cuMemHostUnregister", "cuModuleUnload",
                                         "cuStreamDestroy"};
const std::set<std::string> kAsks = {"cuStreamQuery", "cuEventQuery"};
// They try what a peer's memory can do, or whether a link's can be pinned; else it goes another
// way.
const std::set<std::string> kTries = {"cuMemAddressReserve",
                                      "cuMemHostRegister",
                                      "cuMemHostGetDevicePointer",
                                      "cuMemCreate",
                                      "cuMemExportToShareableHandle",
                                      "cuMemMap",
                                      "cuMemSetAccess",
                                      "cuMemGetAllocationGranularity",
                                      "cuMemImportFromShareableHandle"};
// Made whenever something is given back too, where a failure can only be logged.
const std::set<std::string> kEveryScope = {"cuCtxPushCurrent", "cuThreadExchangeStreamCaptureMode"};

std::vector<std::string> call_names() {
  return {
#define STRAIT_CUDA_CALL(name, version, parameters) #name,
#include "base/cuda/calls.def"
#undef STRAIT_CUDA_CALL
  };
}

// What one rank was told, if anything went wrong.
struct Told {
  ncclResult_t result = ncclSuccess;
  std::string sentence;

  // Keeps the first failure.
  bool went_well(ncclResult_t found) {
    if (found == ncclSuccess || result != ncclSuccess) return found == ncclSuccess;
    result = found;
    sentence = ncclGetLastError(nullptr);
    return false;
  }
};

// What the scene does on each rank, beside what the program itself calls of the driver.
struct Place {
  int rank;
  const cuda::Driver& driver;
  cuda::StreamHandle stream;
  void* words;
};
using Scene = std::function<void(const Place&, ncclComm_t, Told&)>;

void call_all(const Place& place, ncclComm_t comm, Told& told) {
  const int peer = 1 - place.rank;
  const cudaStream_t stream = as_nccl(place.stream);
  const auto sum = [&] {
    return ncclAllReduce(place.words, place.words, kWords, ncclUint32, ncclSum, comm, stream);
  };
  const auto exchange = [&] {
    ncclGroupStart();
    ncclSend(place.words, kWords, ncclUint32, peer, comm, stream);
    ncclRecv(place.words, kWords, ncclUint32, peer, comm, stream);
    return ncclGroupEnd();
  };
  for (int turn = 0; turn < 2; ++turn)
    if (!told.went_well(sum()) || !told.went_well(exchange())) return;
}

// Until all is done, or the communicator says what went wrong.
void settle(const Place& place, ncclComm_t comm, Told& told) {
  const Deadline deadline = Deadline::after_ms(5'000);
  ncclResult_t async = ncclSuccess;
  while (told.result == ncclSuccess && !deadline.passed()) {
    EXPECT_NCCL(ncclCommGetAsyncError(comm, &async));
    if (!told.went_well(async)) return;
    const auto idle = cuda::is_idle(place.driver, place.stream);
    if (!idle.ok() || *idle) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_FALSE(deadline.passed()) << "it hangs";
}

class GpuFaults : public testing::Test {
 protected:
  // Contexts, streams and buffers of both ranks stay, so that only the library's objects come and
  // go.
  GpuFaults() {
    for (int device = 0; device < 2; ++device) {
      gpus_.push_back(std::make_unique<GpuRank>(device));
      words_.push_back(gpus_.back()->words(kWords, 1));
    }
  }
  ~GpuFaults() override {
    standin::fail("");
    for (const auto& gpu : gpus_) EXPECT_DONE(standin::program().cuCtxSetCurrent(gpu->context()));
  }

  // The whole life of two ranks under a plan of failures; what each was told.
  std::array<Told, 2> live(const std::string& plan, const Settings& settings, const Scene& scene) {
    std::array<Told, 2> told;
    const Environment environment(settings);
    ncclUniqueId id;
    EXPECT_NCCL(ncclGetUniqueId(&id));
    standin::fail(plan);
    on_threads(2, [&](int rank) {
      const auto at = static_cast<size_t>(rank);
      EXPECT_DONE(standin::program().cuCtxSetCurrent(gpus_[at]->context()));
      ncclComm_t comm = nullptr;
      if (!told[at].went_well(ncclCommInitRank(&comm, 2, id, rank))) return;
      const Place place{rank, gpus_[at]->driver(), gpus_[at]->handle(), words_[at].data()};
      scene(place, comm, told[at]);
      settle(place, comm, told[at]);
      EXPECT_NCCL(told[at].result == ncclSuccess ? ncclCommDestroy(comm) : ncclCommAbort(comm));
    });
    calls_.clear();
    for (const std::string& name : call_names()) calls_[name] = standin::calls_of(name);
    standin::fail("");
    return told;
  }

  // Each call of the scene fails, one at a time.
  void fail_each(const Settings& settings, const Scene& scene) {
    const auto fine = live("", settings, scene);
    ASSERT_EQ(fine[0].result, ncclSuccess) << fine[0].sentence;
    ASSERT_EQ(fine[1].result, ncclSuccess) << fine[1].sentence;
    const auto counts = calls_;
    for (const auto& [name, count] : counts) {
      if (count == 0 || kReleases.contains(name)) continue;
      // The first ones, and some of the later ones.
      for (uint64_t number = 1; number <= count; number += 1 + number / 3) {
        SCOPED_TRACE(fmt::format("{} number {} of {}", name, number, count));
        const uint64_t before = standin::live_objects();
        const auto told = live(fmt::format("{}:{}=999", name, number), settings, scene);
        const bool both_fine = told[0].result == ncclSuccess && told[1].result == ncclSuccess;
        EXPECT_TRUE(kEveryScope.contains(name) || objects_left(before) == before)
            << "something is left";
        if (both_fine) {
          EXPECT_TRUE(kEveryScope.contains(name) || kAsks.contains(name) || kTries.contains(name))
              << "nobody was told";
          continue;
        }
        EXPECT_TRUE(told[0].sentence.find(name + ": CUDA_ERROR_UNKNOWN") != std::string::npos ||
                    told[1].sentence.find(name + ": CUDA_ERROR_UNKNOWN") != std::string::npos)
            << "rank 0: " << told[0].sentence << "\nrank 1: " << told[1].sentence;
        if (kAsks.contains(name)) break;
      }
    }
  }

  std::vector<std::unique_ptr<GpuRank>> gpus_;
  std::vector<cuda::DeviceMemory> words_;
  std::map<std::string, uint64_t> calls_;
};

TEST_F(GpuFaults, OfEachCallInsideADomainAreToldAndLeaveNothing) {
  fail_each(kSoon, call_all);
}

TEST_F(GpuFaults, OfEachCallBetweenDomainsAreToldAndLeaveNothing) {
  Settings settings = kSoon;
  settings["STRAIT_EMULATE_DOMAINS"] = "1";
  fail_each(settings, call_all);
}

TEST_F(GpuFaults, OfEachCallWhileAGraphIsCapturedAreToldAndLeaveNothing) {
  const Scene capture = [](const Place& place, ncclComm_t comm, Told& told) {
    const standin::Program& program = standin::program();
    EXPECT_DONE(program.cuStreamBeginCapture(place.stream, cuda::kCaptureThreadLocal));
    call_all(place, comm, told);
    cuda::GraphHandle graph = nullptr;
    if (program.cuStreamEndCapture.code(place.stream, &graph) != cuda::kSuccess) {
      EXPECT_NE(told.result, ncclSuccess) << "a capture broke and nobody was told";
      return;
    }
    standin::GraphExecHandle exec = nullptr;
    EXPECT_DONE(program.cuGraphInstantiateWithFlags(&exec, graph, 0));
    EXPECT_DONE(program.cuGraphDestroy(graph));
    if (told.result == ncclSuccess) EXPECT_DONE(program.cuGraphLaunch(exec, place.stream));
    settle(place, comm, told);
    EXPECT_DONE(program.cuGraphExecDestroy(exec));
  };
  fail_each(kSoon, capture);
}

// The device's memory runs out in the middle of it.
TEST_F(GpuFaults, ADeviceOutOfMemorySaysWhatForAndWhatToDo) {
  for (const char* call : {"cuMemAlloc:2=2", "cuMemHostAlloc:1=2", "cuMemCreate:3=2"}) {
    const auto told = live(call, kSoon, call_all);
    const std::string all = told[0].sentence + told[1].sentence;
    EXPECT_THAT(all, HasSubstr("CUDA_ERROR_OUT_OF_MEMORY; free device memory, or lower "
                               "STRAIT_SLOT_BYTES"));
    EXPECT_NE(told[0].result, ncclSuccess);
    EXPECT_NE(told[1].result, ncclSuccess);
  }
}

// A kernel of ours that breaks its context: in a process of its own, as nothing works there after.
TEST(GpuKernelFaults, EndTheCommunicator) {
  meet_on_gpus(2, 2, kSoon, [](int rank, GpuRank& gpu, ncclComm_t comm) {
    const auto words = gpu.words(kWords, 1);
    if (rank == 0) standin::fail("kernel:1=700");
    Told told;
    const Place place{rank, gpu.driver(), gpu.handle(), words.data()};
    call_all(place, comm, told);
    const Deadline deadline = Deadline::after_ms(5'000);
    ncclResult_t async = told.result;
    while (async == ncclSuccess && !deadline.passed())
      EXPECT_NCCL(ncclCommGetAsyncError(comm, &async));
    EXPECT_NE(async, ncclSuccess);
    EXPECT_NCCL(ncclCommAbort(comm));
  });
}

}  // namespace
}  // namespace strait::test
