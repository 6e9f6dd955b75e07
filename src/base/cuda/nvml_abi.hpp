// NVML's types as its entry points take them, in our own words (see abi.hpp). A structure carries
// its size and version in its first word. Values only.
#pragma once

#include <cstdint>

struct nvmlDevice_st;

namespace strait::cuda {

using NvmlDevice = nvmlDevice_st*;

enum NvmlCode : int {
  kNvmlSuccess = 0,
  kNvmlNotSupported = 3,
  kNvmlNotFound = 6,
  kNvmlFunctionNotFound = 13,
  kNvmlArgumentVersionMismatch = 25,
};

struct NvmlFabricInfo {
  unsigned version;
  unsigned char cluster_uuid[16];
  int status;
  unsigned clique;
  unsigned char state;
  unsigned health_mask;
};

struct NvmlPlatformInfo {
  unsigned version;
  unsigned char ib_guid[16];
  unsigned char chassis_serial[16];
  unsigned char slot, tray, host, peer_type, module;
};

inline constexpr unsigned kNvmlFabricInfoVersion = sizeof(NvmlFabricInfo) | (2U << 24);
inline constexpr unsigned kNvmlPlatformInfoVersion = sizeof(NvmlPlatformInfo) | (2U << 24);

}  // namespace strait::cuda
