// Puts between processes of one host: straight into the peer's window where it lies in shareable
// memory, over the link where it does not.

#include <fstream>

#include "tests/api/processes.hpp"
#include "tests/api/world.hpp"

namespace strait::test {
namespace {

constexpr int kRanks = 3;
constexpr size_t kCount = 200'000;  // of ints, many slots
constexpr size_t kWindowBytes = kRanks * kCount * sizeof(int);

// Mappings of shareable buffers, the own and those of peers.
int mapped_buffers() {
  std::ifstream maps("/proc/self/maps");
  int found = 0;
  for (std::string line; std::getline(maps, line);)
    if (line.find("memfd:strait buffer") != std::string::npos) ++found;
  return found;
}

void put_round(int rank, ncclComm_t comm, ncclWindow_t window, const int* values, int round) {
  const std::vector<int> block(kCount, 1000 * rank + round);
  std::vector<ncclWaitSignalDesc_t> waits;
  for (int peer = 0; peer < kRanks; ++peer) {
    need(ncclPutSignal(block.data(), kCount, ncclInt, peer, window,
                       static_cast<size_t>(rank) * kCount * sizeof(int), 0, 0, 0, comm, nullptr),
         "ncclPutSignal");
    waits.push_back({1, peer, 0, 0});
  }
  need(ncclWaitSignal(kRanks, waits.data(), comm, nullptr), "ncclWaitSignal");
  for (size_t i = 0; i < kRanks * kCount; ++i)
    need(values[i] == 1000 * static_cast<int>(i / kCount) + round,
         "round " + std::to_string(round) + ", element " + std::to_string(i));
}

void put_all(int rank, SharedPage& page, bool shareable, int expected_mappings) {
  ncclComm_t comm = nullptr;
  need(ncclCommInitRank(&comm, kRanks, page.id, rank), "ncclCommInitRank");
  void* memory = nullptr;
  if (shareable)
    need(ncclMemAlloc(&memory, kWindowBytes), "ncclMemAlloc");
  else
    memory = std::aligned_alloc(
        NCCL_WIN_REQUIRED_ALIGNMENT,
        (kWindowBytes / NCCL_WIN_REQUIRED_ALIGNMENT + 1) * NCCL_WIN_REQUIRED_ALIGNMENT);
  ncclWindow_t window = nullptr;
  need(ncclCommWindowRegister(comm, memory, kWindowBytes, &window, NCCL_WIN_COLL_SYMMETRIC),
       "ncclCommWindowRegister");
  for (int round = 0; round < 5; ++round) {
    put_round(rank, comm, window, static_cast<const int*>(memory), round);
    page.meet(kRanks * (round + 1));
  }
  const int found = mapped_buffers();
  need(found == expected_mappings, std::to_string(found) + " buffers are mapped");
  need(ncclCommWindowDeregister(comm, window), "ncclCommWindowDeregister");
  need(ncclCommDestroy(comm), "ncclCommDestroy");
}

TEST(WindowsOfProcesses, ArePutIntoDirectly) {
  Processes processes(kRanks,
                      [](int rank, SharedPage& page) { put_all(rank, page, true, kRanks); });
  processes.expect_fine();
}

TEST(WindowsOfProcesses, ArePutIntoOverLinksWhereZeroCopyIsOff) {
  const Environment environment(Settings{{"STRAIT_ZERO_COPY", "off"}});
  Processes processes(kRanks, [](int rank, SharedPage& page) { put_all(rank, page, true, 1); });
  processes.expect_fine();
}

TEST(WindowsOfProcesses, MayBeAnyMemory) {
  Processes processes(kRanks, [](int rank, SharedPage& page) { put_all(rank, page, false, 0); });
  processes.expect_fine();
}

}  // namespace
}  // namespace strait::test
