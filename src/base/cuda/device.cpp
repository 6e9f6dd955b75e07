#include "base/cuda/device.hpp"

#include <algorithm>

namespace strait::cuda {
namespace {

Result<int> attribute(const Driver& driver, DeviceAttribute which, int device) {
  int value = 0;
  STRAIT_TRY(driver.cuDeviceGetAttribute(&value, which, device));
  return value;
}

// `least`: the value that means yes.
Result<bool> ability(const Driver& driver, DeviceAttribute which, int device, int least = 1) {
  int value = 0;
  const int code = driver.cuDeviceGetAttribute.code(&value, which, device);
  if (code == kInvalidValue) return false;  // the driver is older than the attribute
  if (code != kSuccess) return failure("cuDeviceGetAttribute", code);
  return value >= least;
}

Status read_abilities(const Driver& driver, int device, DeviceFacts& facts) {
  STRAIT_ASSIGN(facts.cooperative, ability(driver, kCooperativeLaunch, device));
  STRAIT_ASSIGN(facts.virtual_memory, ability(driver, kVirtualMemory, device));
  STRAIT_ASSIGN(facts.file_descriptors, ability(driver, kPosixHandles, device));
  STRAIT_ASSIGN(facts.fabric_handles, ability(driver, kFabricHandles, device));
  STRAIT_ASSIGN(facts.rdma, ability(driver, kGpuDirectRdma, device));
  STRAIT_ASSIGN(facts.rdma_virtual_memory, ability(driver, kRdmaWithVirtualMemory, device));
  STRAIT_ASSIGN(facts.dma_buf, ability(driver, kDmaBuf, device));
  STRAIT_ASSIGN(facts.rdma_writes_ordered,
                ability(driver, kRdmaWritesOrdering, device, kRdmaWritesOrderedForOwner));
  return Status();
}

Status read_numbers(const Driver& driver, int device, DeviceFacts& facts) {
  STRAIT_ASSIGN(facts.compute_major, attribute(driver, kComputeMajor, device));
  STRAIT_ASSIGN(facts.compute_minor, attribute(driver, kComputeMinor, device));
  STRAIT_ASSIGN(facts.multiprocessors, attribute(driver, kMultiprocessors, device));
  STRAIT_ASSIGN(facts.threads_per_block_max, attribute(driver, kMaxThreadsPerBlock, device));
  STRAIT_ASSIGN(facts.shared_bytes_max, attribute(driver, kSharedBytesPerBlockOptIn, device));
  return driver.cuDeviceTotalMem(&facts.memory_bytes, device);
}

Status read_names(const Driver& driver, int device, DeviceFacts& facts) {
  std::array<char, 256> text{};
  STRAIT_TRY(driver.cuDeviceGetName(text.data(), static_cast<int>(text.size()), device));
  facts.name = text.data();
  STRAIT_TRY(driver.cuDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), device));
  facts.pci_bus_id = text.data();
  Uuid uuid{};
  STRAIT_TRY(driver.cuDeviceGetUuid(&uuid, device));
  std::copy_n(uuid.bytes, facts.uuid.size(), facts.uuid.begin());
  return Status();
}

}  // namespace

Result<DeviceFacts> device_facts(const Driver& driver, int ordinal) {
  DeviceFacts facts;
  facts.ordinal = ordinal;
  int device = 0;
  const std::string place = fmt::format("cuda:{}", ordinal);
  STRAIT_TRY(driver.cuDeviceGet(&device, ordinal).at(place));
  STRAIT_TRY(read_names(driver, device, facts).at(place));
  STRAIT_TRY(read_numbers(driver, device, facts).at(place));
  STRAIT_TRY(read_abilities(driver, device, facts).at(place));
  return facts;
}

Result<PeerFacts> peer_facts(const Driver& driver, int device, int peer) {
  PeerFacts facts;
  if (device == peer) return PeerFacts{true, true, 0};
  int value = 0;
  const std::string place = fmt::format("cuda:{} to cuda:{}", device, peer);
  STRAIT_TRY(driver.cuDeviceCanAccessPeer(&value, device, peer).at(place));
  facts.access = value != 0;
  STRAIT_TRY(driver.cuDeviceGetP2PAttribute(&value, kPeerNativeAtomics, device, peer).at(place));
  facts.native_atomics = value != 0;
  STRAIT_TRY(
      driver.cuDeviceGetP2PAttribute(&facts.performance_rank, kPeerPerformanceRank, device, peer)
          .at(place));
  return facts;
}

}  // namespace strait::cuda
