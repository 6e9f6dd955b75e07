// Every call of the driver fails once: the failure comes back in a sentence that names the call,
// nothing that was made before it stays behind, and nothing waits for what will not come.
#include <gmock/gmock.h>

#include <set>

#include "base/cuda/device.hpp"
#include "base/cuda/ipc_memory.hpp"
#include "base/cuda/mapped_memory.hpp"
#include "base/cuda/pointer.hpp"
#include "base/cuda/rdma.hpp"
#include "cuda/gpu.hpp"
#include "cuda/peer_run.hpp"

namespace strait::cuda::test {
namespace {

using ::testing::HasSubstr;

// Calls by which things are given back: what they refuse can only be logged.
const std::set<std::string> kReleases = {"cuCtxPopCurrent",     "cuDevicePrimaryCtxRelease",
                                         "cuEventDestroy",      "cuMemAddressFree",
                                         "cuMemFree",           "cuMemFreeHost",
                                         "cuMemHostUnregister", "cuMemRelease",
                                         "cuMemUnmap",          "cuModuleUnload",
                                         "cuStreamDestroy"};

Status use_memory(const Driver& driver, ContextHandle context, StreamHandle stream) {
  STRAIT_ASSIGN(const DeviceMemory memory, DeviceMemory::allocate(driver, context, 4096, "use"));
  STRAIT_ASSIGN(const PinnedMemory pinned, PinnedMemory::allocate(driver, context, 4096, "use"));
  std::vector<std::byte> mine(4096);
  STRAIT_ASSIGN(const RegisteredMemory registered,
                RegisteredMemory::add(driver, context, mine.data(), mine.size(), "use"));
  STRAIT_TRY(fill(driver, memory.pointer(), 1, 4096, stream));
  STRAIT_TRY(copy(driver, pinned.pointer(), memory.pointer(), 4096, stream));
  STRAIT_TRY(pointer_facts(driver, memory.data()).status());
  STRAIT_TRY(order_copies_with_nic(driver, memory.pointer()));
  STRAIT_TRY(export_ipc(driver, context, memory.pointer()).status());
  STRAIT_TRY(free_bytes(driver, context).status());
  return wait_idle(driver, stream, soon());
}

Status use_mapped_memory(const Driver& driver, ContextHandle context) {
  STRAIT_ASSIGN(PhysicalMemory physical,
                PhysicalMemory::create(driver, context, 1, {.bytes = 1, .file_descriptor = true}));
  STRAIT_ASSIGN(const UniqueFd fd, physical.export_fd());
  STRAIT_ASSIGN(PhysicalMemory imported,
                PhysicalMemory::import_from(driver, context, fd, physical.bytes()));
  const int device = 1;
  STRAIT_ASSIGN(const MappedMemory first, MappedMemory::map(std::move(physical), {&device, 1}));
  STRAIT_ASSIGN(const MappedMemory second, MappedMemory::map(std::move(imported), {&device, 1}));
  return PhysicalMemory::behind(driver, context, first.data(), 1).status();
}

Status use_kernels(const Driver& driver, ContextHandle context, StreamHandle stream) {
  STRAIT_ASSIGN(const Module module, Module::load(driver, context, standin::kAnyImage));
  STRAIT_ASSIGN(const Kernel set, module.kernel("seam_set"));
  STRAIT_TRY(set.facts().status());
  STRAIT_TRY(set.allow_shared_bytes(64 << 10));
  STRAIT_TRY(set.blocks_per_multiprocessor(32, 0).status());
  STRAIT_ASSIGN(const DeviceMemory memory, DeviceMemory::allocate(driver, context, 8, "use"));
  STRAIT_TRY(launch_with(set, {}, stream, static_cast<uint32_t*>(memory.data()), uint32_t{1}));
  return wait_idle(driver, stream, soon());
}

Status use_streams(const Driver& driver, ContextHandle context, StreamHandle stream) {
  STRAIT_ASSIGN(const Event from, Event::create(driver, context, Event::Use::kTime));
  STRAIT_ASSIGN(const Event to, Event::create(driver, context, Event::Use::kTime));
  STRAIT_ASSIGN(const DeviceMemory memory, DeviceMemory::allocate(driver, context, 16, "use"));
  STRAIT_TRY(from.record(stream));
  STRAIT_TRY(write_value(driver, stream, memory.pointer(), uint32_t{1}));
  STRAIT_TRY(write_value(driver, stream, memory.pointer() + 8, uint64_t{1}));
  STRAIT_TRY(wait_value(driver, stream, memory.pointer(), uint32_t{1}));
  STRAIT_TRY(wait_value(driver, stream, memory.pointer() + 8, uint64_t{1}));
  STRAIT_TRY(call_on_host(
      driver, stream, [](void*) {}, nullptr));
  STRAIT_TRY(to.record(stream));
  STRAIT_TRY(to.hold_back(stream));
  STRAIT_TRY(to.wait_past(soon()));
  STRAIT_TRY(from.ns_to(to).status());
  STRAIT_TRY(context_of(driver, stream).status());
  STRAIT_TRY(id_of(driver, stream).status());
  return capture_of(driver, stream).status();
}

Status use_devices(const Driver& driver, ContextHandle context) {
  STRAIT_TRY(device_facts(driver, 1).status());
  STRAIT_TRY(peer_facts(driver, 0, 1).status());
  STRAIT_TRY(device_of(driver, context).status());
  STRAIT_TRY(current_context(driver).status());
  STRAIT_ASSIGN(const PrimaryContext peer, PrimaryContext::retain(driver, 0));
  return enable_peer_access(driver, context, peer.get());
}

Status use_capture(const Driver& driver, ContextHandle context, StreamHandle stream) {
  STRAIT_ASSIGN(const Event outside, Event::create(driver, context));
  STRAIT_TRY(outside.hold_back_inside(stream));
  STRAIT_TRY(outside.record_outside(stream));
  STRAIT_ASSIGN(const Capture capture, capture_of(driver, stream));
  return call_after_graph(
      driver, capture.graph, [](void*) {}, nullptr);
}

// A graph that takes an object: the program's part goes through whatever the library's part does.
Status use_graph(const Driver& driver, ContextHandle context, StreamHandle stream) {
  const standin::Program& program = standin::program();
  STRAIT_TRY(program.cuStreamBeginCapture(stream, kCaptureRelaxed));
  const Status used = use_capture(driver, context, stream);
  GraphHandle graph = nullptr;
  STRAIT_TRY(program.cuStreamEndCapture(stream, &graph));
  STRAIT_TRY(program.cuGraphDestroy(graph));
  return used;
}

Status use_all(const Driver& driver) {
  STRAIT_ASSIGN(const PrimaryContext context, PrimaryContext::retain(driver, 1));
  STRAIT_ASSIGN(const Stream stream, Stream::create(driver, context.get()));
  STRAIT_TRY(use_devices(driver, context.get()));
  STRAIT_TRY(use_memory(driver, context.get(), stream.get()));
  STRAIT_TRY(use_mapped_memory(driver, context.get()));
  STRAIT_TRY(use_kernels(driver, context.get(), stream.get()));
  STRAIT_TRY(use_streams(driver, context.get(), stream.get()));
  return use_graph(driver, context.get(), stream.get());
}

std::vector<std::string> call_names() {
  return {
#define STRAIT_CUDA_CALL(name, version, parameters) #name,
#include "base/cuda/calls.def"
#undef STRAIT_CUDA_CALL
  };
}

class Faults : public ::testing::Test {
 protected:
  Faults() { standin::fail(""); }
  ~Faults() override { standin::fail(""); }

  // Runs everything while call number `number` of that name fails.
  void expect_clear_failure(const std::string& name, uint64_t number) {
    const uint64_t before = standin::live_objects();
    standin::fail(fmt::format("{}:{}=999", name, number));
    const Status status = use_all(driver_);
    const std::string where = fmt::format("{} number {}", name, number);
    standin::fail("");
    if (kReleases.contains(name)) {
      release_contexts();
      return;
    }
    EXPECT_EQ(status.code(), Code::kCudaError) << where;
    EXPECT_THAT(status.message(), HasSubstr(name + ": CUDA_ERROR_UNKNOWN; ")) << where;
    EXPECT_EQ(standin::live_objects(), before) << where << " left something behind";
  }

  // Whatever a failed release left of them.
  void release_contexts() const {
    for (int device = 0; device < driver_.device_count; ++device)
      while (driver_.cuDevicePrimaryCtxRelease.code(device) == kSuccess) {
      }
  }

  const Driver& driver_ = *must(driver());
};

TEST_F(Faults, NothingFailsWithoutOne) {
  const uint64_t before = standin::live_objects();
  EXPECT_DONE(use_all(driver_));
  EXPECT_EQ(standin::live_objects(), before);
}

TEST_F(Faults, EveryCallFailsInAClearSentence) {
  EXPECT_DONE(use_all(driver_));
  std::vector<std::pair<std::string, uint64_t>> counts;
  for (const std::string& name : call_names()) counts.emplace_back(name, standin::calls_of(name));
  for (const auto& [name, count] : counts) {
    // The mode goes back in a destructor: only the first exchange of a pair can be told. How often
    // a wait asks is chance.
    const bool paired = name == "cuThreadExchangeStreamCaptureMode";
    const bool asks = name == "cuEventQuery" || name == "cuStreamQuery";
    for (uint64_t number = 1; number <= std::min<uint64_t>(count, asks ? 1 : 6);
         number += paired ? 2 : 1)
      expect_clear_failure(name, number);
  }
}

TEST_F(Faults, EveryCallOfTheTableIsTried) {
  // Tried in other tests: at the opening of the driver, between processes, or refused here anyway.
  const std::set<std::string> elsewhere = {"cuInit",
                                           "cuDriverGetVersion",
                                           "cuGetErrorName",
                                           "cuDeviceGetCount",
                                           "cuIpcOpenMemHandle",
                                           "cuIpcCloseMemHandle",
                                           "cuUserObjectRelease",
                                           "cuMemGetHandleForAddressRange"};
  EXPECT_DONE(use_all(driver_));
  for (const std::string& name : call_names())
    EXPECT_NE(standin::calls_of(name) > 0, elsewhere.contains(name)) << name;
}

TEST_F(Faults, AtTheOpeningMakeTheDriverUnusable) {
  for (const char* const name : {"cuInit", "cuDeviceGetCount"}) {
    const Finished peer = run_peer("state", fmt::format("STRAIT_STANDIN_FAIL={}:1=999", name));
    EXPECT_THAT(peer.output, HasSubstr(fmt::format("state 2: {}: CUDA_ERROR_UNKNOWN", name)));
  }
}

TEST_F(Faults, AFailedReleaseIsLoggedAndNoMore) {
  const PrimaryContext context = must(PrimaryContext::retain(driver_, 1));
  standin::fail("cuMemFree:1=999");
  ::testing::internal::CaptureStderr();
  { const auto memory = must(DeviceMemory::allocate(driver_, context.get(), 8, "a test")); }
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("cuMemFree: CUDA_ERROR_UNKNOWN"));
}

TEST_F(Faults, AnObjectThatNoGraphTakesIsGivenBack) {
  const uint64_t before = standin::live_objects();
  EXPECT_FALSE(call_after_graph(
                   driver_, nullptr, [](void*) {}, nullptr)
                   .ok());
  EXPECT_EQ(standin::live_objects(), before);
  EXPECT_EQ(standin::calls_of("cuUserObjectRelease"), 1U);
}

TEST_F(Faults, ADeviceThatMakesNoDmaBufSaysSo) {
  const PrimaryContext context = must(PrimaryContext::retain(driver_, 1));
  EXPECT_FALSE(must(device_facts(driver_, 1)).dma_buf);
  const auto memory = must(DeviceMemory::allocate(driver_, context.get(), 4096, "a test"));
  const Result<UniqueFd> none =
      export_dma_buf(driver_, context.get(), memory.pointer(), memory.bytes());
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.status().message(), HasSubstr("cuMemGetHandleForAddressRange: "
                                                 "CUDA_ERROR_NOT_SUPPORTED"));
}

}  // namespace
}  // namespace strait::cuda::test
