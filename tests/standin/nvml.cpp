// A libnvidia-ml.so.1 for tests: the fabric of the stand-in GPUs, by STRAIT_STANDIN_FABRIC (see
// settings.hpp) and STRAIT_STANDIN_CHASSIS.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/cuda/nvml_abi.hpp"
#include "standin/settings.hpp"

#define STRAIT_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using strait::cuda::NvmlDevice;
constexpr int kInvalidArgument = 2;

uintptr_t number_of(NvmlDevice device) {
  return reinterpret_cast<uintptr_t>(device) - 1;
}

}  // namespace

STRAIT_EXPORT int nvmlInit_v2() {
  return strait::cuda::kNvmlSuccess;
}

STRAIT_EXPORT const char* nvmlErrorString(int code) {
  return code == strait::cuda::kNvmlNotFound ? "Not Found" : "Unknown Error";
}

STRAIT_EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, NvmlDevice* device) {
  unsigned domain = 0, bus = 0;
  const int devices = strait::standin::Settings::from_environment().devices;
  if (std::sscanf(bus_id, "%x:%x:", &domain, &bus) != 2) return kInvalidArgument;
  if (bus < 0x10 || bus >= 0x10U + static_cast<unsigned>(devices))
    return strait::cuda::kNvmlNotFound;
  *device = reinterpret_cast<NvmlDevice>(static_cast<uintptr_t>(bus - 0x10 + 1));
  return strait::cuda::kNvmlSuccess;
}

STRAIT_EXPORT int nvmlDeviceGetGpuFabricInfoV(NvmlDevice device,
                                              strait::cuda::NvmlFabricInfo* info) {
  if (info->version != strait::cuda::kNvmlFabricInfoVersion)
    return strait::cuda::kNvmlArgumentVersionMismatch;
  if (device == nullptr) return kInvalidArgument;
  const strait::standin::Fabric fabric = strait::standin::Settings::from_environment().fabric;
  std::memcpy(info->cluster_uuid, fabric.cluster.data(), fabric.cluster.size());
  info->status = 0;
  info->clique = fabric.clique;
  info->state = fabric.state;
  info->health_mask = 0;
  return strait::cuda::kNvmlSuccess;
}

STRAIT_EXPORT int nvmlDeviceGetPlatformInfo(NvmlDevice device,
                                            strait::cuda::NvmlPlatformInfo* info) {
  if (info->version != strait::cuda::kNvmlPlatformInfoVersion)
    return strait::cuda::kNvmlArgumentVersionMismatch;
  const char* const serial = std::getenv("STRAIT_STANDIN_CHASSIS");
  if (device == nullptr || serial == nullptr) return strait::cuda::kNvmlNotSupported;
  std::memcpy(info->chassis_serial, serial,
              std::min(std::strlen(serial), sizeof info->chassis_serial));
  info->module = static_cast<unsigned char>(number_of(device));
  return strait::cuda::kNvmlSuccess;
}
