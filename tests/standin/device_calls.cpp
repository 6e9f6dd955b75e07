// The calls that need no context: what driver and devices there are.
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "standin/error_names.hpp"
#include "standin/machine.hpp"

namespace strait::standin {
namespace {

bool is_device(int device) {
  return device >= 0 && device < machine().settings.devices;
}

int answer(DeviceAttribute attribute) {
  const Settings& settings = machine().settings;
  switch (attribute) {
    case kMaxThreadsPerBlock:
      return 1024;
    case kMultiprocessors:
      return settings.multiprocessors;
    case kComputeMajor:
      return 9;
    case kUnifiedAddressing:
    case kCooperativeLaunch:
      return 1;
    case kSharedBytesPerBlockOptIn:
      return 227 << 10;
    case kVirtualMemory:
      return settings.vmm ? 1 : 0;
    case kPosixHandles:
      return settings.vmm && settings.descriptors ? 1 : 0;
    case kFabricHandles:
      return settings.vmm && settings.fabric.there ? 1 : 0;
    case kGpuDirectRdma:
      return settings.rdma ? 1 : 0;
    default:
      return 0;
  }
}

}  // namespace

int cuInit(unsigned) {
  Machine& all = machine();
  if (all.process != 0 && all.process != getpid()) return kNotInitialized;
  all.process = getpid();
  all.used_bytes.resize(static_cast<size_t>(all.settings.devices));
  all.primaries.resize(static_cast<size_t>(all.settings.devices));
  return all.settings.devices == 0 ? kNoDevice : kSuccess;
}

int cuDriverGetVersion(int* version) {
  *version = machine().settings.version;
  return kSuccess;
}

int cuGetErrorName(ResultCode code, const char** name) {
  *name = error_name(code);
  return *name == nullptr ? kInvalidValue : kSuccess;
}

int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return is_device(ordinal) ? kSuccess : kInvalidDevice;
}

int cuDeviceGetCount(int* count) {
  *count = machine().settings.devices;
  return kSuccess;
}

int cuDeviceGetName(char* name, int bytes, int device) {
  if (!is_device(device)) return kInvalidDevice;
  std::snprintf(name, static_cast<size_t>(bytes), "Stand-in GPU");
  return kSuccess;
}

int cuDeviceGetUuid(Uuid* uuid, int device) {
  if (!is_device(device)) return kInvalidDevice;
  *uuid = Uuid{};
  uuid->bytes[0] = 0x5a;
  uuid->bytes[15] = static_cast<unsigned char>(device);
  return kSuccess;
}

int cuDeviceTotalMem(size_t* bytes, int device) {
  *bytes = machine().settings.memory_bytes;
  return is_device(device) ? kSuccess : kInvalidDevice;
}

int cuDeviceGetAttribute(int* value, DeviceAttribute attribute, int device) {
  if (!is_device(device)) return kInvalidDevice;
  *value = answer(attribute);
  return kSuccess;
}

int cuDeviceGetPCIBusId(char* id, int bytes, int device) {
  if (!is_device(device)) return kInvalidDevice;
  std::snprintf(id, static_cast<size_t>(bytes), "0000:%02x:00.0", 0x10 + device);
  return kSuccess;
}

int cuDeviceCanAccessPeer(int* can, int device, int peer) {
  if (!is_device(device) || !is_device(peer)) return kInvalidDevice;
  *can = machine().settings.peer && device != peer ? 1 : 0;
  return kSuccess;
}

int cuDeviceGetP2PAttribute(int* value, PeerAttribute attribute, int device, int peer) {
  if (!is_device(device) || !is_device(peer) || device == peer) return kInvalidDevice;
  *value = attribute == kPeerPerformanceRank ? 0 : machine().settings.peer ? 1 : 0;
  return kSuccess;
}

int cuDevicePrimaryCtxRetain(ContextHandle* context, int device) {
  if (!is_device(device)) return kInvalidDevice;
  ContextRef& primary = machine().primaries[static_cast<size_t>(device)];
  if (primary == nullptr) primary = make_context(device, true);
  ++primary->retained;
  *context = reinterpret_cast<ContextHandle>(primary.get());
  return kSuccess;
}

int cuDevicePrimaryCtxRelease(int device) {
  if (!is_device(device)) return kInvalidDevice;
  ContextRef& primary = machine().primaries[static_cast<size_t>(device)];
  if (primary == nullptr) return kInvalidContext;
  if (--primary->retained > 0) return kSuccess;
  const ContextRef ending = std::exchange(primary, nullptr);
  end_context(ending);
  return kSuccess;
}

}  // namespace strait::standin
