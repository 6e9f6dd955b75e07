// A rank that runs out of memory in the middle of a call: an error on all ranks, and nobody waits
// for ever.

#include <atomic>
#include <cstdlib>
#include <new>

#include "tests/api/world.hpp"

namespace {

std::atomic<size_t> largest{SIZE_MAX};  // partner: every allocation of this program

}  // namespace

[[gnu::noinline]] void* operator new(size_t bytes) {
  void* memory = bytes > largest.load(std::memory_order_relaxed) ? nullptr : std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
// Replaced together: what one form takes another may give back.
[[gnu::noinline]] void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return bytes > largest.load(std::memory_order_relaxed) ? nullptr : std::malloc(bytes);
}
[[gnu::noinline]] void operator delete(void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}

namespace strait::test {
namespace {

TEST(NoMemory, FailsTheCallAndTheNextOnes) {
  const Settings settings = {{"STRAIT_ALGO", "tree"}, {"STRAIT_SLOT_BYTES", "4M"}};
  constexpr size_t kCount = 4 << 20;
  std::vector<std::vector<uint16_t>> buffers(4, std::vector<uint16_t>(kCount));
  run_world(4, settings, [&](int rank, ncclComm_t comm) {
    std::vector<uint16_t>& values = buffers[static_cast<size_t>(rank)];
    largest = 1 << 20;
    for (int call = 0; call < 2; ++call)
      EXPECT_NE(
          ncclAllReduce(values.data(), values.data(), kCount, ncclHalf, ncclSum, comm, nullptr),
          ncclSuccess);
  });
  largest = SIZE_MAX;
}

}  // namespace
}  // namespace strait::test
