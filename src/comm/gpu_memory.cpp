#include "comm/gpu_memory.hpp"

#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "base/cuda/context.hpp"
#include "base/cuda/device.hpp"
#include "base/cuda/mapped_memory.hpp"
#include "base/cuda/memory.hpp"

namespace strait {
namespace {

// One of the two memories is there.
struct Allocation {
  cuda::PrimaryContext context;
  cuda::MappedMemory mapped;
  cuda::DeviceMemory plain;

  void* data() const { return mapped.bytes() > 0 ? mapped.data() : plain.data(); }
};

struct Allocations {
  std::mutex mutex;
  std::map<void*, Allocation> by_pointer;
};

Allocations& allocations() {
  // Never destroyed: programs free from their own static destructors, and the driver may be gone
  // when ours would run.
  static auto* all = new Allocations;
  return *all;
}

Result<std::vector<int>> devices_that_reach(const cuda::Driver& driver, int device) {
  std::vector<int> devices = {device};
  for (int other = 0; other < driver.device_count; ++other) {
    if (other == device) continue;
    STRAIT_ASSIGN(const cuda::PeerFacts facts, cuda::peer_facts(driver, other, device));
    if (facts.access) devices.push_back(other);
  }
  return devices;
}

Result<cuda::MappedMemory> allocate_shareable_on(const cuda::Driver& driver,
                                                 const cuda::DeviceFacts& facts,
                                                 cuda::ContextHandle context, size_t bytes) {
  cuda::PhysicalMemory::Wish wish = cuda::shareable(driver, context, facts);
  wish.bytes = bytes;
  wish.rdma = facts.rdma_virtual_memory;
  STRAIT_ASSIGN(auto memory, cuda::PhysicalMemory::create(driver, context, facts.ordinal, wish));
  STRAIT_ASSIGN(const std::vector<int> devices, devices_that_reach(driver, facts.ordinal));
  return cuda::MappedMemory::map(std::move(memory), devices);
}

}  // namespace

Result<void*> allocate_on_gpu(int device, size_t bytes) {
  STRAIT_ASSIGN(const cuda::Driver* driver, cuda::driver());
  STRAIT_ASSIGN(const cuda::DeviceFacts facts, cuda::device_facts(*driver, device));
  STRAIT_ASSIGN(auto context, cuda::PrimaryContext::retain(*driver, device));
  Allocation made{std::move(context), {}, {}};
  if (facts.virtual_memory) {
    STRAIT_ASSIGN(made.mapped, allocate_shareable_on(*driver, facts, made.context.get(), bytes));
  } else {
    STRAIT_ASSIGN(made.plain,
                  cuda::DeviceMemory::allocate(*driver, made.context.get(), bytes, "ncclMemAlloc"));
  }
  void* const pointer = made.data();
  Allocations& all = allocations();
  std::lock_guard lock(all.mutex);
  all.by_pointer.emplace(pointer, std::move(made));
  return pointer;
}

bool free_on_gpu(void* pointer) {
  Allocations& all = allocations();
  std::optional<Allocation> freed;  // after the lock: freeing may wait for the device
  std::lock_guard lock(all.mutex);
  const auto found = all.by_pointer.find(pointer);
  if (found == all.by_pointer.end()) return false;
  freed.emplace(std::move(found->second));
  all.by_pointer.erase(found);
  return true;
}

}  // namespace strait
