// Memory shared with another process: by file descriptor, by fabric handle, by legacy IPC.
#include <gmock/gmock.h>

#include <thread>

#include "base/cuda/ipc_memory.hpp"
#include "base/cuda/mapped_memory.hpp"
#include "cuda/gpu.hpp"
#include "cuda/peer_run.hpp"

namespace strait::cuda::test {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

const std::string kFabric = "STRAIT_STANDIN_FABRIC=c0ffee/7";  // as environment.cpp has it

template <class Handle>
std::string to_hex(const Handle& handle) {
  std::string text;
  for (size_t i = 0; i < sizeof handle; ++i)
    text += fmt::format("{:02x}", reinterpret_cast<const unsigned char*>(&handle)[i]);
  return text;
}

class Sharing : public Gpu {
 protected:
  MappedMemory mapped(const PhysicalMemory::Wish& wish) const {
    const int device = 0;
    MappedMemory memory = must(MappedMemory::map(
        must(PhysicalMemory::create(driver_, context_.get(), 0, wish)), {&device, 1}));
    EXPECT_DONE(fill(driver_, memory.pointer(), 0, memory.bytes(), stream_.get()));
    EXPECT_DONE(wait());
    return memory;
  }
  static std::string path_of(const UniqueFd& fd) {
    return fmt::format("/proc/{}/fd/{}", getpid(), fd.get());
  }
};

TEST_F(Sharing, ByFileDescriptor) {
  const MappedMemory memory = mapped({.bytes = 4000, .file_descriptor = true});
  const UniqueFd fd = must(memory.physical().export_fd());
  const Finished peer = run_peer(fmt::format("add_by_fd {} {}", path_of(fd), memory.bytes()));
  EXPECT_EQ(peer.exit_code, 0) << peer.output;
  EXPECT_THAT(read(memory.pointer(), 1000), Each(1U));
}

TEST_F(Sharing, ByFabricHandleWithinADomain) {
  const MappedMemory memory = mapped({.bytes = 4000, .fabric = true});
  const std::string handle = to_hex(must(memory.physical().export_fabric()));
  const std::string role = fmt::format("add_by_fabric {} {}", handle, memory.bytes());
  const Finished peer = run_peer(role, kFabric);
  EXPECT_EQ(peer.exit_code, 0) << peer.output;
  EXPECT_THAT(read(memory.pointer(), 1000), Each(1U));
}

TEST_F(Sharing, AFabricHandleIsNoGoodInAnotherDomain) {
  const MappedMemory memory = mapped({.bytes = 4000, .fabric = true});
  const std::string handle = to_hex(must(memory.physical().export_fabric()));
  const std::string role = fmt::format("add_by_fabric {} {}", handle, memory.bytes());
  const Finished peer = run_peer(role, "STRAIT_STANDIN_FABRIC=c0ffee/8");
  EXPECT_EQ(peer.exit_code, 1);
  EXPECT_THAT(peer.output,
              HasSubstr("a peer's memory by fabric handle: cuMemImportFromShareableHandle: "
                        "CUDA_ERROR_INVALID_HANDLE"));
  EXPECT_THAT(peer.output, HasSubstr("IMEX domain"));
}

TEST_F(Sharing, ADomainWithoutImexSaysSo) {
  const Finished peer = run_peer("create_fabric", kFabric + " STRAIT_STANDIN_IMEX=0");
  EXPECT_EQ(peer.exit_code, 1);
  EXPECT_THAT(peer.output, HasSubstr("shared by fabric handle: cuMemCreate: "
                                     "CUDA_ERROR_NOT_PERMITTED"));
  EXPECT_THAT(peer.output, HasSubstr("/dev/nvidia-caps-imex-channels"));
  EXPECT_EQ(run_peer("create_fabric", kFabric).exit_code, 0);
}

TEST_F(Sharing, ByLegacyIpcWithAnOffset) {
  const DeviceMemory memory = words(2000);
  EXPECT_DONE(fill(driver_, memory.pointer(), 0, memory.bytes(), stream_.get()));
  EXPECT_DONE(wait());
  const IpcExport exported = must(export_ipc(driver_, context_.get(), memory.pointer() + 400));
  EXPECT_EQ(exported.offset_bytes, 400U);
  const Finished peer =
      run_peer(fmt::format("add_by_ipc {} {}", to_hex(exported.handle), exported.offset_bytes));
  EXPECT_EQ(peer.exit_code, 0) << peer.output;
  EXPECT_THAT(read(memory.pointer(), 100), Each(0U));
  EXPECT_THAT(read(memory.pointer() + 400, 1000), Each(1U));
}

TEST_F(Sharing, MappedMemoryHasNoLegacyHandle) {
  const MappedMemory memory = mapped({.bytes = 4000, .file_descriptor = true});
  EXPECT_FALSE(export_ipc(driver_, context_.get(), memory.pointer()).ok());
}

TEST_F(Sharing, MemoryNotMadeToBeSharedIsNot) {
  const MappedMemory memory = mapped({.bytes = 4000});
  EXPECT_FALSE(memory.physical().export_fd().ok());
  EXPECT_FALSE(memory.physical().export_fabric().ok());
}

TEST_F(Sharing, WhatIsNoMemoryIsNotImported) {
  const UniqueFd pipe_end(dup(0));
  const Result<PhysicalMemory> none =
      PhysicalMemory::import_from(driver_, context_.get(), pipe_end, 4096);
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.status().message(), HasSubstr("a peer's memory by file descriptor"));
}

TEST_F(Sharing, AKernelWaitsForAnotherProcess) {
  const MappedMemory memory = mapped({.bytes = 4000, .file_descriptor = true});
  const UniqueFd fd = must(memory.physical().export_fd());
  auto* const shared = static_cast<uint32_t*>(memory.data());
  Finished peer;
  std::thread other(
      [&] { peer = run_peer(fmt::format("wait_by_fd {} {}", path_of(fd), memory.bytes())); });
  EXPECT_DONE(launch_with(kernel("seam_set"), {}, stream_.get(), shared, uint32_t{7}));
  const uint32_t* const answer = shared + 1;
  const PinnedMemory seen = must(PinnedMemory::allocate(driver_, context_.get(), 4, "a test"));
  EXPECT_DONE(launch_with(kernel("seam_wait"), {}, stream_.get(), answer, uint32_t{7},
                          reinterpret_cast<uint32_t*>(seen.pointer())));
  EXPECT_DONE(wait());
  other.join();
  EXPECT_EQ(peer.exit_code, 0) << peer.output;
  EXPECT_EQ(*reinterpret_cast<const uint32_t*>(seen.data()), 7U);
}

}  // namespace
}  // namespace strait::cuda::test
