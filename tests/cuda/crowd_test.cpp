// Many at once: ranks whose kernels wait for each other, and threads that do everything beside each
// other.
#include <array>
#include <atomic>
#include <random>
#include <thread>

#include "cuda/gpu.hpp"

namespace strait::cuda::test {
namespace {

class Crowd : public Gpu {};

// 0 <- host, 1 <- 0, 2 <- 1 ...: the kernel of each rank waits for that of the one before, and all
// are launched in the order that needs every one of them to be resident.
TEST_F(Crowd, KernelsOfManyRanksWaitForEachOther) {
  constexpr uint32_t kRanks = 16;
  const std::array contexts = {must(PrimaryContext::retain(driver_, 0)),
                               must(PrimaryContext::retain(driver_, 1))};
  std::vector<Module> modules;
  for (const PrimaryContext& context : contexts)
    modules.push_back(must(Module::load(driver_, context.get(), standin::kAnyImage)));
  const PinnedMemory flags =
      must(PinnedMemory::allocate(driver_, context_.get(), 4 * (kRanks + 1), "flags"));
  auto* const first = reinterpret_cast<uint32_t*>(flags.data());
  std::fill_n(first, kRanks + 1, 0U);
  std::vector<Stream> streams;
  for (uint32_t rank = kRanks; rank-- > 0;) {
    streams.push_back(must(Stream::create(driver_, contexts[rank % 2].get())));
    const uint32_t* const before = first + rank;
    EXPECT_DONE(launch_with(must(modules[rank % 2].kernel("seam_wait")),
                            {.blocks = 4, .threads = 64}, streams.back().get(), before, uint32_t{1},
                            first + rank + 1));
  }
  EXPECT_FALSE(must(is_idle(driver_, streams.front().get())));
  std::atomic_ref(*first).store(1);
  for (const Stream& stream : streams) EXPECT_DONE(wait_idle(driver_, stream.get(), soon()));
  EXPECT_EQ(first[kRanks], 1U);
}

// One thread's work: adds to its own memory from two streams that events order, allocates now and
// then, and says whether it all arrived.
Status work_alone(const Driver& driver, const Module& module, ContextHandle context,
                  uint32_t seed) {
  constexpr uint32_t kWords = 300;
  std::mt19937 random(seed);
  STRAIT_ASSIGN(const Kernel add, module.kernel("seam_add"));
  const std::array streams = {must(Stream::create(driver, context)),
                              must(Stream::create(driver, context))};
  const Event order = must(Event::create(driver, context));
  const auto memory = must(DeviceMemory::allocate(driver, context, kWords * 4, "a test"));
  const auto seen = must(PinnedMemory::allocate(driver, context, kWords * 4, "a test"));
  auto* const target = static_cast<uint32_t*>(memory.data());
  STRAIT_TRY(fill(driver, memory.pointer(), 0, memory.bytes(), streams[0].get()));
  uint32_t expected = 0;
  for (int i = 0; i < 60; ++i) {
    const size_t turn = static_cast<size_t>(i) % 2;
    const uint32_t value = random() % 1000;
    STRAIT_TRY(
        launch_with(add, {.blocks = 2, .threads = 32}, streams[turn].get(), target, value, kWords));
    STRAIT_TRY(order.record(streams[turn].get()));
    STRAIT_TRY(order.hold_back(streams[1 - turn].get()));
    expected += value;
    if (random() % 8 == 0) must(DeviceMemory::allocate(driver, context, 64, "a test"));
  }
  STRAIT_TRY(copy(driver, seen.pointer(), memory.pointer(), memory.bytes(), streams[0].get()));
  STRAIT_TRY(wait_idle(driver, streams[0].get(), soon()));
  for (uint32_t i = 0; i < kWords; ++i)
    if (reinterpret_cast<const uint32_t*>(seen.data())[i] != expected)
      return error(Code::kInternalError, "word {} is wrong", i);
  return Status();
}

TEST_F(Crowd, ThreadsDoEverythingBesideEachOther) {
  std::vector<std::thread> threads;
  for (uint32_t seed = 1; seed <= 6; ++seed)
    threads.emplace_back(
        [this, seed] { EXPECT_DONE(work_alone(driver_, module_, context_.get(), seed)); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace strait::cuda::test
