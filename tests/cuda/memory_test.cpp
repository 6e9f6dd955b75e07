// Owners of memory, and what pointers say of themselves.
#include <gmock/gmock.h>

#include <thread>

#include "base/cuda/mapped_memory.hpp"
#include "base/cuda/pointer.hpp"
#include "cuda/gpu.hpp"
#include "cuda/peer_run.hpp"

namespace strait::cuda::test {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

class Memory : public Gpu {
 protected:
  PointerFacts facts_of(const void* pointer) const { return must(pointer_facts(driver_, pointer)); }
};

TEST_F(Memory, DeviceMemoryIsFilledAndCopied) {
  const DeviceMemory first = words(1000);
  const DeviceMemory second = words(1000);
  EXPECT_DONE(fill(driver_, first.pointer(), 0x11, first.bytes(), stream_.get()));
  EXPECT_DONE(copy(driver_, second.pointer(), first.pointer(), first.bytes(), stream_.get()));
  EXPECT_DONE(wait());
  EXPECT_THAT(read(second.pointer(), 1000), Each(0x11111111U));
}

TEST_F(Memory, AnAllocationThatDoesNotFitSaysWhatForAndWhatToDo) {
  const Result<DeviceMemory> none =
      DeviceMemory::allocate(driver_, context_.get(), size_t{1} << 40, "a staging ring");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.status().code(), Code::kCudaError);
  EXPECT_THAT(none.status().message(),
              HasSubstr("1099511627776 bytes of device memory for a staging ring: cuMemAlloc: "
                        "CUDA_ERROR_OUT_OF_MEMORY; free device memory"));
}

TEST_F(Memory, FreedMemoryCanBeHadAgain) {
  for (int round = 0; round < 3; ++round) {
    const Result<DeviceMemory> most =
        DeviceMemory::allocate(driver_, context_.get(), size_t{700} << 20, "a test");
    EXPECT_TRUE(most.ok());
  }
}

TEST_F(Memory, PinnedMemoryIsReachedByTheDevice) {
  const PinnedMemory pinned = must(PinnedMemory::allocate(driver_, context_.get(), 4000, "a test"));
  EXPECT_DONE(fill(driver_, pinned.pointer(), 0x22, 4000, stream_.get()));
  EXPECT_DONE(wait());
  EXPECT_EQ(pinned.data()[3999], std::byte{0x22});
}

TEST_F(Memory, RegisteredMemoryIsReachedByTheDeviceWhileItIs) {
  std::vector<std::byte> mine(1 << 16);
  {
    const RegisteredMemory registered =
        must(RegisteredMemory::add(driver_, context_.get(), mine.data(), mine.size(), "a test"));
    EXPECT_DONE(fill(driver_, registered.pointer(), 0x33, mine.size(), stream_.get()));
    EXPECT_DONE(wait());
    EXPECT_EQ(facts_of(mine.data() + 5).kind, MemoryKind::kPinned);
    const Result<RegisteredMemory> again =
        RegisteredMemory::add(driver_, context_.get(), mine.data(), mine.size(), "a ring");
    ASSERT_FALSE(again.ok());
    EXPECT_THAT(again.status().message(), HasSubstr("HOST_MEMORY_ALREADY_REGISTERED"));
  }
  EXPECT_EQ(mine[100], std::byte{0x33});
  EXPECT_EQ(facts_of(mine.data()).kind, MemoryKind::kHost);
}

TEST_F(Memory, PointersSayWhoseTheyAre) {
  int local = 0;
  EXPECT_EQ(facts_of(&local).kind, MemoryKind::kHost);
  const DeviceMemory memory = words(100);
  const PointerFacts facts = facts_of(words_of(memory) + 7);
  EXPECT_EQ(facts.kind, MemoryKind::kDevice);
  EXPECT_EQ(facts.device, 0);
  EXPECT_EQ(facts.context, context_.get());
  EXPECT_EQ(facts.base, memory.pointer());
  EXPECT_EQ(facts.bytes, 400U);
  EXPECT_TRUE(facts.legacy_ipc);
  const DeviceMemory other = words(100);
  EXPECT_NE(facts_of(other.data()).buffer_id, facts.buffer_id);
  DevicePointer managed = 0;
  EXPECT_DONE(program_.cuMemAllocManaged(&managed, 100, 1));
  EXPECT_EQ(facts_of(reinterpret_cast<void*>(managed)).kind, MemoryKind::kManaged);
  EXPECT_DONE(driver_.cuMemFree(managed));
}

TEST_F(Memory, PointersOfAnotherDeviceSayWhich) {
  const PrimaryContext other = must(PrimaryContext::retain(driver_, 1));
  const DeviceMemory memory = must(DeviceMemory::allocate(driver_, other.get(), 100, "a test"));
  EXPECT_EQ(facts_of(memory.data()).device, 1);
  EXPECT_EQ(facts_of(memory.data()).context, other.get());
}

TEST_F(Memory, MappedMemoryIsUsedByItsDevices) {
  PhysicalMemory physical = must(
      PhysicalMemory::create(driver_, context_.get(), 1, {.bytes = 1000, .file_descriptor = true}));
  EXPECT_EQ(physical.bytes(), size_t{2} << 20);
  const std::array devices = {0, 1};
  const MappedMemory mapped = must(MappedMemory::map(std::move(physical), devices));
  EXPECT_DONE(fill(driver_, mapped.pointer(), 0x44, mapped.bytes(), stream_.get()));
  EXPECT_DONE(wait());
  EXPECT_THAT(read(mapped.pointer() + 4096, 10), Each(0x44444444U));
  const PointerFacts facts = facts_of(mapped.data());
  EXPECT_EQ(facts.device, 1);
  EXPECT_EQ(facts.context, nullptr);
  EXPECT_TRUE(facts.file_descriptor);
  EXPECT_FALSE(facts.fabric);
  EXPECT_FALSE(facts.legacy_ipc);
}

TEST_F(Memory, TheAllocationBehindAnAddressIsShared) {
  PhysicalMemory physical = must(
      PhysicalMemory::create(driver_, context_.get(), 0, {.bytes = 1000, .file_descriptor = true}));
  const int device = 0;
  const MappedMemory mapped = must(MappedMemory::map(std::move(physical), {&device, 1}));
  PhysicalMemory behind =
      must(PhysicalMemory::behind(driver_, context_.get(), mapped.data(), mapped.bytes()));
  const MappedMemory second = must(MappedMemory::map(std::move(behind), {&device, 1}));
  EXPECT_NE(second.pointer(), mapped.pointer());
  EXPECT_DONE(fill(driver_, mapped.pointer(), 0x55, 400, stream_.get()));
  EXPECT_DONE(wait());
  EXPECT_THAT(read(second.pointer(), 100), Each(0x55555555U));
}

TEST_F(Memory, PlainMemoryHasNoAllocationToShare) {
  const DeviceMemory memory = words(10);
  EXPECT_FALSE(PhysicalMemory::behind(driver_, context_.get(), memory.data(), 40).ok());
}

TEST_F(Memory, CallsOfTheLibraryLeaveTheCallersContextAlone) {
  const PrimaryContext other = must(PrimaryContext::retain(driver_, 1));
  EXPECT_DONE(program_.cuCtxSetCurrent(other.get()));
  const DeviceMemory memory = words(10);
  EXPECT_EQ(must(current_context(driver_)), other.get());
  EXPECT_EQ(facts_of(memory.data()).device, 0);
  EXPECT_DONE(program_.cuCtxSetCurrent(context_.get()));
}

TEST_F(Memory, WorksInThreadsThatNeverSetADevice) {
  std::thread([this] {
    const DeviceMemory memory = words(10);
    EXPECT_EQ(must(current_context(driver_)), nullptr);
  }).join();
}

TEST_F(Memory, IsGoneWithItsContext) {
  ContextHandle mine = nullptr;
  EXPECT_DONE(program_.cuCtxCreate(&mine, 0, 1));
  DeviceMemory memory = must(DeviceMemory::allocate(driver_, mine, 100, "a test"));
  EXPECT_DONE(program_.cuCtxDestroy(mine));
  memory = DeviceMemory();  // nothing to free, and no complaint
  EXPECT_EQ(facts_of(memory.data()).kind, MemoryKind::kHost);
  EXPECT_DONE(program_.cuCtxSetCurrent(context_.get()));
}

TEST_F(Memory, OfADeviceIsGuardedFromTheHostWhereThatIsAskedFor) {
  const Finished stopped = run_peer("touch", "STRAIT_STANDIN_GUARD=1");
  EXPECT_NE(stopped.exit_code, 0);
  EXPECT_THAT(stopped.output, Not(HasSubstr("done")));
  EXPECT_EQ(run_peer("touch", "STRAIT_STANDIN_GUARD=0").exit_code, 0);
}

TEST_F(Memory, PeerAccessIsEnabledOnceOrAgain) {
  const PrimaryContext other = must(PrimaryContext::retain(driver_, 1));
  EXPECT_DONE(enable_peer_access(driver_, context_.get(), other.get()));
  EXPECT_DONE(enable_peer_access(driver_, context_.get(), other.get()));
  EXPECT_DONE(program_.cuCtxDisablePeerAccess(other.get()));
  EXPECT_FALSE(enable_peer_access(driver_, context_.get(), context_.get()).ok());
}

}  // namespace
}  // namespace strait::cuda::test
