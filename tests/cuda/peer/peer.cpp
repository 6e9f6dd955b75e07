// The other process of the tests that need two, and the one whose environment a test chooses: does
// the one thing that its first argument names, prints what came of it in a line, and ends with 0.
#include <fcntl.h>

#include <charconv>
#include <cstdio>
#include <functional>
#include <map>
#include <vector>

#include "base/cuda/context.hpp"
#include "base/cuda/device.hpp"
#include "base/cuda/ipc_memory.hpp"
#include "base/cuda/launch.hpp"
#include "base/cuda/mapped_memory.hpp"
#include "base/cuda/memory.hpp"
#include "base/cuda/nvml.hpp"
#include "base/cuda/stream.hpp"
#include "standin/program.hpp"

namespace strait::cuda {
namespace {

using Texts = std::vector<std::string>;

size_t number(const std::string& text) {
  size_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

template <class Handle>
Handle from_hex(const std::string& text) {
  Handle handle{};
  auto* const bytes = reinterpret_cast<unsigned char*>(&handle);
  for (size_t i = 0; i < sizeof handle && 2 * i < text.size(); ++i)
    std::from_chars(text.data() + 2 * i, text.data() + 2 * i + 2, bytes[i], 16);
  return handle;
}

struct Bench {
  const Driver& driver;
  PrimaryContext context;
  Module module;
  Stream stream;

  static Result<Bench> open() {
    STRAIT_ASSIGN(const Driver* driver, cuda::driver());
    STRAIT_ASSIGN(PrimaryContext context, PrimaryContext::retain(*driver, 0));
    STRAIT_ASSIGN(Module module, Module::load(*driver, context.get(), standin::kAnyImage));
    STRAIT_ASSIGN(Stream stream, Stream::create(*driver, context.get()));
    return Bench{*driver, std::move(context), std::move(module), std::move(stream)};
  }
};

Status add_one(const Bench& bench, DevicePointer pointer, uint32_t count) {
  STRAIT_ASSIGN(const Kernel add, bench.module.kernel("seam_add"));
  STRAIT_TRY(launch_with(add, {.blocks = 2, .threads = 64}, bench.stream.get(),
                         reinterpret_cast<uint32_t*>(pointer), uint32_t{1}, count));
  return wait_idle(bench.driver, bench.stream.get(), Deadline::after_ms(20'000));
}

Status say_state(const Texts&) {
  const Result<const Driver*> opened = driver();
  std::printf("state %d: %s\n", static_cast<int>(driver_state()),
              opened.ok() ? "ready" : opened.status().message().c_str());
  return Status();
}

Status say_fabric(const Texts& texts) {
  STRAIT_ASSIGN(const FabricFacts facts, fabric_facts(texts.at(0)));
  std::printf("state %d domain [%s] chassis [%s]\n", static_cast<int>(facts.state),
              facts.domain_key().c_str(), facts.chassis_serial.c_str());
  return Status();
}

// Each of the next three: HANDLE BYTES; adds one to every word.
Status add_by_fd(const Texts& texts) {
  STRAIT_ASSIGN(const Bench bench, Bench::open());
  const UniqueFd fd(open(texts.at(0).c_str(), O_RDWR | O_CLOEXEC));
  STRAIT_ASSIGN(
      PhysicalMemory physical,
      PhysicalMemory::import_from(bench.driver, bench.context.get(), fd, number(texts.at(1))));
  const int device = 0;
  STRAIT_ASSIGN(const MappedMemory memory, MappedMemory::map(std::move(physical), {&device, 1}));
  return add_one(bench, memory.pointer(), 1000);
}

Status add_by_fabric(const Texts& texts) {
  STRAIT_ASSIGN(const Bench bench, Bench::open());
  STRAIT_ASSIGN(
      PhysicalMemory physical,
      PhysicalMemory::import_from(bench.driver, bench.context.get(),
                                  from_hex<FabricHandle>(texts.at(0)), number(texts.at(1))));
  const int device = 0;
  STRAIT_ASSIGN(const MappedMemory memory, MappedMemory::map(std::move(physical), {&device, 1}));
  return add_one(bench, memory.pointer(), 1000);
}

Status add_by_ipc(const Texts& texts) {
  STRAIT_ASSIGN(const Bench bench, Bench::open());
  const IpcExport exported{from_hex<IpcHandle>(texts.at(0)), number(texts.at(1))};
  STRAIT_ASSIGN(const IpcMemory memory,
                IpcMemory::open(bench.driver, bench.context.get(), exported));
  return add_one(bench, memory.pointer(), 1000);
}

// HANDLE BYTES: a kernel waits until word 0 is 7, then word 1 becomes 7.
Status wait_by_fd(const Texts& texts) {
  STRAIT_ASSIGN(const Bench bench, Bench::open());
  const UniqueFd fd(open(texts.at(0).c_str(), O_RDWR | O_CLOEXEC));
  STRAIT_ASSIGN(
      PhysicalMemory physical,
      PhysicalMemory::import_from(bench.driver, bench.context.get(), fd, number(texts.at(1))));
  const int device = 0;
  STRAIT_ASSIGN(const MappedMemory memory, MappedMemory::map(std::move(physical), {&device, 1}));
  STRAIT_ASSIGN(const Kernel wait, bench.module.kernel("seam_wait"));
  auto* const words = static_cast<uint32_t*>(memory.data());
  const uint32_t* const flag = words;
  STRAIT_TRY(launch_with(wait, {}, bench.stream.get(), flag, uint32_t{7}, words + 1));
  return wait_idle(bench.driver, bench.stream.get(), Deadline::after_ms(20'000));
}

Status create_fabric(const Texts&) {
  STRAIT_ASSIGN(const Bench bench, Bench::open());
  return try_fabric(bench.driver, bench.context.get(), 0);
}

// What no program may do: device memory is no memory of the host.
Status touch(const Texts&) {
  STRAIT_ASSIGN(const Bench bench, Bench::open());
  STRAIT_ASSIGN(const DeviceMemory memory,
                DeviceMemory::allocate(bench.driver, bench.context.get(), 4096, "a test"));
  STRAIT_TRY(add_one(bench, memory.pointer(), 1000));
  *static_cast<volatile uint32_t*>(memory.data()) = 1;
  return Status();
}

Status say_facts(const Texts&) {
  STRAIT_ASSIGN(const Driver* driver, cuda::driver());
  STRAIT_ASSIGN(const DeviceFacts facts, device_facts(*driver, 0));
  std::printf("%d devices, %zu bytes, %d SMs, virtual %d, fabric %d\n", driver->device_count,
              facts.memory_bytes, facts.multiprocessors, facts.virtual_memory,
              facts.fabric_handles);
  return Status();
}

int run(const std::string& name, const Texts& texts) {
  const std::map<std::string, std::function<Status(const Texts&)>> roles = {
      {"state", say_state},
      {"fabric", say_fabric},
      {"add_by_fd", add_by_fd},
      {"add_by_fabric", add_by_fabric},
      {"add_by_ipc", add_by_ipc},
      {"wait_by_fd", wait_by_fd},
      {"create_fabric", create_fabric},
      {"facts", say_facts},
      {"touch", touch},
  };
  const Status status = roles.at(name)(texts);
  std::printf("%s\n", status.ok() ? "done" : status.message().c_str());
  return status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace strait::cuda

int main(int count, char** texts) {
  strait::standin::use_standin();
  return count < 2 ? 2 : strait::cuda::run(texts[1], {texts + 2, texts + count});
}
