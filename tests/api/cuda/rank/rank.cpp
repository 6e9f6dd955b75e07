// A rank in a process of its own, on the stand-in whose environment a test chooses: does what its
// first argument names, prints what came of it, and ends with 0 if that is what should come.
//   rank ROLE RANKS RANK ID [FROM TO]      ID: the unique id, in hex
#include <signal.h>

#include <cstdio>
#include <functional>

#include "api/cuda/drawn_case.hpp"
#include "api/cuda/gpu_window.hpp"
#include "api/cuda/unique_id_text.hpp"
#include "base/clock.hpp"

namespace strait::test {
namespace {

struct Role {
  int ranks;
  int rank;
  ncclUniqueId id;
  uint64_t from;
  uint64_t to;
};

void say(const std::string& text) {
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

int fail(const std::string& what) {
  say("FAILED: " + what + ": " + ncclGetLastError(nullptr));
  return 1;
}

// Of this process.
int device_of(const Role& role) {
  return role.rank % cuda::driver().value()->device_count;
}

ncclResult_t join(const Role& role, ncclComm_t* comm) {
  return ncclCommInitRank(comm, role.ranks, role.id, role.rank);
}

// Prints a sum of the bits that each drawn case leaves here.
int draw(const Role& role) {
  GpuRank gpu(device_of(role));
  ncclComm_t comm = nullptr;
  if (join(role, &comm) != ncclSuccess) return fail("init");
  for (uint64_t seed = role.from; seed < role.to; ++seed) {
    Case what = draw_case(seed, role.ranks);
    const Environment environment(what.settings);
    ncclComm_t child = nullptr;
    if (ncclCommSplit(comm, 0, role.rank, &child, nullptr) != ncclSuccess) return fail("split");
    say(fmt::format("seed {} rank {} {:016x}", seed, role.rank,
                    sum_of(on_gpu(what, role.rank, gpu, child))));
    if (ncclCommDestroy(child) != ncclSuccess) return fail("destroy");
  }
  return ncclCommDestroy(comm) == ncclSuccess ? 0 : fail("destroy");
}

constexpr size_t kWords = 3000;

ncclResult_t sum(const cuda::DeviceMemory& words, ncclComm_t comm, cudaStream_t stream) {
  return ncclAllReduce(words.data(), words.data(), kWords, ncclUint32, ncclSum, comm, stream);
}

bool all_are(const GpuRank& gpu, const cuda::DeviceMemory& words, uint32_t value) {
  return gpu.words_in(words) == std::vector<uint32_t>(words.bytes() / 4, value);
}

// The calls of all processes are captured, in the mode that forbids the most, and replayed.
int replay(const Role& role) {
  const standin::Program& program = standin::program();
  GpuRank gpu(device_of(role));
  ncclComm_t comm = nullptr;
  if (join(role, &comm) != ncclSuccess) return fail("init");
  const auto words = gpu.words(kWords, 1);
  cuda::GraphHandle graph = nullptr;
  standin::GraphExecHandle exec = nullptr;
  EXPECT_DONE(program.cuStreamBeginCapture(gpu.handle(), cuda::kCaptureGlobal));
  EXPECT_NCCL(sum(words, comm, gpu.stream()));
  EXPECT_DONE(program.cuStreamEndCapture(gpu.handle(), &graph));
  EXPECT_DONE(program.cuGraphInstantiateWithFlags(&exec, graph, 0));
  EXPECT_DONE(program.cuGraphDestroy(graph));
  uint32_t value = 1;
  for (int turn = 0; turn < 6; ++turn) {
    EXPECT_DONE(program.cuGraphLaunch(exec, gpu.handle()));
    EXPECT_NCCL(sum(words, comm, gpu.stream()));
    value *= static_cast<uint32_t>(role.ranks * role.ranks);
  }
  EXPECT_DONE(gpu.wait());
  if (!all_are(gpu, words, value)) return fail("the bits differ");
  EXPECT_DONE(program.cuGraphExecDestroy(exec));
  EXPECT_NCCL(ncclCommDestroy(comm));
  return testing::Test::HasFailure() ? 1 : 0;
}

// Every rank puts into every window, itself included, and finds what all have put.
int put(const Role& role) {
  GpuRank gpu(device_of(role));
  ncclComm_t comm = nullptr;
  if (join(role, &comm) != ncclSuccess) return fail("init");
  const auto ranks = static_cast<size_t>(role.ranks);
  {
    const GpuWindow window(gpu, comm, ranks * kWords * 4);
    const auto words = gpu.words(kWords, static_cast<uint32_t>(role.rank + 1));
    std::vector<ncclWaitSignalDesc_t> waits;
    for (int peer = 0; peer < role.ranks; ++peer) {
      EXPECT_NCCL(ncclPutSignal(words.data(), kWords, ncclUint32, peer, window.name(),
                                static_cast<size_t>(role.rank) * kWords * 4, 0, 0, 0, comm,
                                gpu.stream()));
      waits.push_back({1, peer, 0, 0});
    }
    EXPECT_NCCL(ncclWaitSignal(role.ranks, waits.data(), comm, gpu.stream()));
    EXPECT_DONE(gpu.wait());
    for (size_t peer = 0; peer < ranks; ++peer)
      if (window.words(peer * kWords, kWords) !=
          std::vector<uint32_t>(kWords, static_cast<uint32_t>(peer + 1)))
        return fail(fmt::format("what rank {} put is not there", peer));
    window.meet(gpu);
  }
  EXPECT_NCCL(ncclCommDestroy(comm));
  return testing::Test::HasFailure() ? 1 : 0;
}

// The last rank is killed while the others wait for it: they say so, soon, and end.
int lose(const Role& role) {
  GpuRank gpu(device_of(role));
  ncclComm_t comm = nullptr;
  if (join(role, &comm) != ncclSuccess) return fail("init");
  const auto words = gpu.words(kWords, 1);
  if (sum(words, comm, gpu.stream()) != ncclSuccess) return fail("the first call");
  if (!gpu.wait().ok()) return fail("the first call");
  if (role.rank == role.ranks - 1) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    ::kill(::getpid(), SIGKILL);
  }
  const Deadline deadline = Deadline::after_ms(8'000);
  ncclResult_t async = sum(words, comm, gpu.stream());
  while (async == ncclSuccess && !deadline.passed()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (ncclCommGetAsyncError(comm, &async) != ncclSuccess) return fail("the state");
  }
  if (async == ncclSuccess) return fail("it hangs");
  say(fmt::format("rank {} was told: {}", role.rank, ncclGetLastError(comm)));
  if (!gpu.wait().ok()) return fail("the stream does not end");
  return ncclCommAbort(comm) == ncclSuccess ? 0 : fail("abort");
}

// A communicator and a call, whatever comes of it.
int call(const Role& role) {
  GpuRank gpu(device_of(role));
  const auto words = gpu.words(kWords, 1);
  ncclComm_t comm = nullptr;
  ncclResult_t result = join(role, &comm);
  if (result == ncclSuccess) result = sum(words, comm, gpu.stream());
  const Deadline deadline = Deadline::after_ms(3'000);
  while (result == ncclSuccess && !deadline.passed())
    if (ncclCommGetAsyncError(comm, &result) != ncclSuccess) return fail("the state");
  say(fmt::format("result {}: {}", static_cast<int>(result), ncclGetLastError(nullptr)));
  return comm == nullptr || ncclCommAbort(comm) == ncclSuccess ? 0 : fail("abort");
}

// A program that uses CUDA, whatever the library thinks of the driver.
int call_with_own_context(const Role& role) {
  void* init = nullptr;
  standin::symbol<int (*)(const char*, void**, int, uint64_t, int*)>("cuGetProcAddress_v2")(
      "cuInit", &init, 2000, 0, nullptr);
  reinterpret_cast<int (*)(unsigned)>(init)(0);
  cuda::ContextHandle context = nullptr;
  if (standin::program().cuCtxCreate.code(&context, 0, 0) != 0) return fail("the context");
  ncclComm_t comm = nullptr;
  const ncclResult_t result = join(role, &comm);
  say(fmt::format("result {}: {}", static_cast<int>(result), ncclGetLastError(nullptr)));
  return 0;
}

// A program that uses no CUDA.
int call_on_host(const Role& role) {
  ncclComm_t comm = nullptr;
  ncclResult_t result = join(role, &comm);
  std::vector<uint32_t> words(kWords, 1);
  if (result == ncclSuccess)
    result = ncclAllReduce(words.data(), words.data(), kWords, ncclUint32, ncclSum, comm, nullptr);
  say(fmt::format("result {}: {}", static_cast<int>(result), ncclGetLastError(nullptr)));
  return ncclCommDestroy(comm) == ncclSuccess ? 0 : fail("destroy");
}

int run(const std::vector<std::string>& arguments) {
  const std::map<std::string, std::function<int(const Role&)>> roles = {
      {"draw", draw},        {"replay", replay}, {"lose", lose},
      {"put", put},          {"call", call},     {"own_context", call_with_own_context},
      {"host", call_on_host}};
  const auto number = [&](size_t i) {
    return i < arguments.size() ? std::stoull(arguments[i]) : 0ULL;
  };
  const Role role{.ranks = static_cast<int>(number(1)),
                  .rank = static_cast<int>(number(2)),
                  .id = id_from_text(arguments.at(3)),
                  .from = number(4),
                  .to = number(5)};
  return roles.at(arguments.at(0))(role);
}

}  // namespace
}  // namespace strait::test

int main(int count, char** arguments) {
  strait::standin::use_standin();
  return strait::test::run({arguments + 1, arguments + count});
}
