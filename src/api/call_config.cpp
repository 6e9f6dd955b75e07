#include "api/call_config.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/log.hpp"
#include "strait.h"

namespace strait::api {
namespace {

constexpr size_t kSmallestBytes = offsetof(ncclCollConfig_t, launchCompletionEvent);  // of 2.31
constexpr unsigned kEventVersion = NCCL_VERSION(2, 32, 0);
constexpr int kCtaPolicyMax = NCCL_CTA_POLICY_EFFICIENCY | NCCL_CTA_POLICY_ZERO;
constexpr int kLanesMax = 32;
// A longer list is one that bites its tail.
constexpr int kOptionsMax = 1024;

Status refused(const char* what) {
  return error(Code::kInvalidArgument, "{}", what);
}

Result<ncclCollConfig_t> copy_of(const ncclCollConfig_t* config) {
  size_t size = 0;
  std::memcpy(&size, &config->size, sizeof size);
  unsigned magic = 0;
  std::memcpy(&magic, &config->magic, sizeof magic);
  if (size < kSmallestBytes || magic != NCCL_API_MAGIC)
    return error(Code::kInvalidArgument,
                 "config was not set up (size {}, magic {:#x}): start from "
                 "NCCL_COLLCONFIG_INITIALIZER",
                 size, magic);
  ncclCollConfig_t known = NCCL_COLLCONFIG_INITIALIZER;
  std::memcpy(&known, config, std::min(size, sizeof known));
  if (known.version < kEventVersion) known.launchCompletionEvent = nullptr;
  return known;
}

Status check(const ncclCollConfig_t& config) {
  if (config.forceAlgSelection != 0 && config.forceAlgSelection != 1)
    return error(Code::kInvalidArgument, "config.forceAlgSelection is {}: it must be 0 or 1",
                 config.forceAlgSelection);
  if (config.CTAPolicy != NCCL_CONFIG_UNDEF_INT &&
      (config.CTAPolicy < 0 || config.CTAPolicy > kCtaPolicyMax))
    return error(Code::kInvalidArgument,
                 "config.CTAPolicy is {}: it must be a sum of NCCL_CTA_POLICY flags or undefined",
                 config.CTAPolicy);
  if (config.launchCompletionEvent != nullptr)
    return refused(
        "config.launchCompletionEvent is an event of a CUDA device, and this communicator's ranks "
        "are hosts: leave it NULL");
  return Status();
}

// Undefined and useless bounds are none, as in NCCL; lanes are what a host has for CTAs.
int lanes(int ctas) {
  return ctas <= 0 ? 0 : std::min(ctas, kLanesMax);
}

Result<Limits> limits_of(const ncclCollConfig_t& config) {
  Limits limits;
  limits.lanes_min = lanes(config.minCTAs);
  limits.lanes_max = lanes(config.maxCTAs);
  if (config.algSelection == nullptr || *config.algSelection == '\0') return limits;
  const auto allowed = parse_algorithms(config.algSelection);
  if (!allowed.ok() && config.forceAlgSelection != 0)
    return allowed.status().at("config.algSelection");
  if (!allowed.ok()) {
    log_info(LogPart::kTuning, "config.algSelection: {}; choosing freely",
             allowed.status().message());
    return limits;
  }
  limits.algorithms = *allowed;
  limits.insists = config.forceAlgSelection != 0 && !allowed->all();
  return limits;
}

Status read_option(const ncclConfigExt_t& option, WireWishes& wishes) {
  switch (option.key.optionId) {
    case STRAIT_OPTION_COMPRESS:
      switch (option.val.i) {
        case STRAIT_COMPRESS_OFF:
          wishes.compress = CompressWish::kOff;
          return Status();
        case STRAIT_COMPRESS_FAST:
          wishes.compress = CompressWish::kFast;
          return Status();
        case STRAIT_COMPRESS_DENSE:
          wishes.compress = CompressWish::kDense;
          return Status();
        case STRAIT_COMPRESS_AUTO:
          wishes.compress = CompressWish::kAuto;
          return Status();
        default:
          return error(Code::kInvalidArgument,
                       "config.ext: STRAIT_OPTION_COMPRESS is {}: it must be one of "
                       "STRAIT_COMPRESS_OFF, _FAST, _DENSE and _AUTO",
                       option.val.i);
      }
    case STRAIT_OPTION_CHECKSUM:
      if (option.val.i != 0 && option.val.i != 1)
        return error(Code::kInvalidArgument,
                     "config.ext: STRAIT_OPTION_CHECKSUM is {}: it must be 0 or 1", option.val.i);
      wishes.checksum = option.val.i == 1 ? ChecksumWish::kOn : ChecksumWish::kOff;
      return Status();
    default:
      return error(Code::kInvalidArgument,
                   "config.ext: this version of the library has no option {}: see the "
                   "STRAIT_OPTION names of strait.h",
                   option.key.optionId);
  }
}

Result<WireWishes> wishes_of(const ncclConfigExt_t* options) {
  WireWishes wishes;
  int count = 0;
  for (const ncclConfigExt_t* option = options; option != nullptr; option = option->next) {
    if (++count > kOptionsMax)
      return refused("config.ext has no end: its last option must have next NULL");
    if (option->key.vendorId == STRAIT_VENDOR_ID) STRAIT_TRY(read_option(*option, wishes));
  }
  return wishes;
}

}  // namespace

Result<CallConfig> read_call_config(const ncclCollConfig_t* config) {
  if (config == nullptr) return CallConfig{};
  STRAIT_ASSIGN(const ncclCollConfig_t known, copy_of(config));
  STRAIT_TRY(check(known));
  STRAIT_ASSIGN(const Limits limits, limits_of(known));
  STRAIT_ASSIGN(const WireWishes wires, wishes_of(known.ext));
  return CallConfig{.limits = limits, .wires = wires};
}

}  // namespace strait::api
