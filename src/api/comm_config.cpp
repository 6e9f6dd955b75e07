#include "api/comm_config.hpp"

#include <algorithm>
#include <cstring>

namespace strait::api {
namespace {

constexpr unsigned kMagic = 0xcafebeef;
constexpr size_t kSmallestBytes = 24;  // the struct of NCCL 2.14
constexpr unsigned kCtasVersion = NCCL_VERSION(2, 17, 0);

Status check_range(const char* name, int value, int low, int high) {
  if (value == NCCL_CONFIG_UNDEF_INT || (value >= low && value <= high)) return Status();
  return error(Code::kInvalidArgument, "config.{} is {}: it must be {} to {} or undefined", name,
               value, low, high);
}

}  // namespace

Status check_comm_config(const ncclConfig_t* config) {
  if (config == nullptr) return Status();
  // Whoever passes something else passes at least its first fields.
  size_t size = 0;
  unsigned magic = 0;
  std::memcpy(&size, &config->size, sizeof size);
  std::memcpy(&magic, &config->magic, sizeof magic);
  if (magic != kMagic || size < kSmallestBytes)
    return error(Code::kInvalidArgument,
                 "config was not set up (size {}, magic {:#x}): start from NCCL_CONFIG_INITIALIZER",
                 size, magic);
  ncclConfig_t known = NCCL_CONFIG_INITIALIZER;
  std::memcpy(&known, config, std::min(size, sizeof known));
  STRAIT_TRY(check_range("blocking", known.blocking, 0, 1));
  if (known.version < kCtasVersion) return Status();
  STRAIT_TRY(check_range("cgaClusterSize", known.cgaClusterSize, 0, 8));
  STRAIT_TRY(check_range("minCTAs", known.minCTAs, 1, INT_MAX));
  STRAIT_TRY(check_range("maxCTAs", known.maxCTAs, 1, INT_MAX));
  if (known.minCTAs != NCCL_CONFIG_UNDEF_INT && known.maxCTAs != NCCL_CONFIG_UNDEF_INT &&
      known.minCTAs > known.maxCTAs)
    return error(Code::kInvalidArgument, "config.minCTAs {} is above config.maxCTAs {}",
                 known.minCTAs, known.maxCTAs);
  return Status();
}

}  // namespace strait::api
