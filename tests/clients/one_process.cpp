// A C++ program made for NCCL: a thread for each rank, configs, splits, windows, in-place calls, on
// host memory. Compiled with the header of the CUDA Toolkit.

#include <nccl.h>

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <thread>
#include <vector>

namespace {

constexpr int kRanks = 4;

void check(ncclResult_t result, const char* call) {
  if (result == ncclSuccess) return;
  std::fprintf(stderr, "%s: %s: %s\n", call, ncclGetErrorString(result), ncclGetLastError(nullptr));
  std::exit(1);
}
#define CHECK(call) check(call, #call)

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s does not hold\n", what);
  std::exit(1);
}
#define EXPECT(condition) expect(condition, #condition)

void gather_in_place(ncclComm_t comm, int rank) {
  constexpr size_t kCount = 4096;
  std::vector<int> values(kRanks * kCount);
  std::iota(values.begin() + static_cast<long>(rank * kCount),
            values.begin() + static_cast<long>((rank + 1) * kCount), rank * 10'000);
  CHECK(
      ncclAllGather(values.data() + rank * kCount, values.data(), kCount, ncclInt, comm, nullptr));
  for (int peer = 0; peer < kRanks; ++peer) EXPECT(values[peer * kCount + 5] == peer * 10'000 + 5);
}

void split_in_halves(ncclComm_t comm, int rank) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.splitShare = 1;
  ncclComm_t half = nullptr;
  CHECK(ncclCommSplit(comm, rank % 2, -rank, &half, &config));
  int count = 0;
  int number = -1;
  CHECK(ncclCommCount(half, &count));
  CHECK(ncclCommUserRank(half, &number));
  EXPECT(count == kRanks / 2);
  EXPECT(number == (rank < 2 ? 1 : 0));
  double value = rank;
  CHECK(ncclAllReduce(&value, &value, 1, ncclDouble, ncclMax, half, nullptr));
  EXPECT(value == 2 + rank % 2);
  CHECK(ncclCommDestroy(half));
  ncclComm_t none = comm;
  CHECK(ncclCommSplit(comm, rank == 0 ? NCCL_SPLIT_NOCOLOR : 1, 0, &none, nullptr));
  EXPECT((none == nullptr) == (rank == 0));
  CHECK(ncclCommDestroy(none));
}

void registered_memory(ncclComm_t comm) {
  void* memory = nullptr;
  CHECK(ncclMemAlloc(&memory, 1 << 20));
  void* handle = nullptr;
  CHECK(ncclCommRegister(comm, memory, 1 << 20, &handle));
  ncclWindow_t window = nullptr;
  CHECK(ncclCommWindowRegister(comm, memory, 1 << 20, &window, NCCL_WIN_COLL_SYMMETRIC));
  auto* values = static_cast<float*>(memory);
  for (int i = 0; i < 1000; ++i) values[i] = 1;
  CHECK(ncclAllReduce(values, values, 1000, ncclFloat, ncclSum, comm, nullptr));
  EXPECT(values[999] == kRanks);
  if (window != nullptr) CHECK(ncclCommWindowDeregister(comm, window));
  CHECK(ncclCommDeregister(comm, handle));
  CHECK(ncclMemFree(memory));
}

void run(const ncclUniqueId& id, int rank) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 1;
  config.minCTAs = 1;
  config.maxCTAs = 4;
  config.commName = "client";
  ncclComm_t comm = nullptr;
  CHECK(ncclCommInitRankConfig(&comm, kRanks, id, rank, &config));
  gather_in_place(comm, rank);
  split_in_halves(comm, rank);
  registered_memory(comm);
  ncclResult_t state = ncclInternalError;
  CHECK(ncclCommGetAsyncError(comm, &state));
  EXPECT(state == ncclSuccess);
  CHECK(ncclCommFinalize(comm));
  CHECK(ncclCommDestroy(comm));
}

}  // namespace

int main() {
  ncclUniqueId id;
  CHECK(ncclGetUniqueId(&id));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank) threads.emplace_back(run, std::cref(id), rank);
  for (std::thread& thread : threads) thread.join();
  std::puts("the C++ client is content");
  return 0;
}
