// STRAIT_API defines one exported function under its two names: pncclName (strong) and ncclName
// (weak, the same code), so that a profiler can define ncclName and call pncclName.
#pragma once

#define STRAIT_EXPORT extern "C" __attribute__((visibility("default")))

#define STRAIT_API(result, name, parameters)                                              \
  STRAIT_EXPORT __attribute__((weak, alias("pnccl" #name))) result nccl##name parameters; \
  STRAIT_EXPORT result pnccl##name parameters
