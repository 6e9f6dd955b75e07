#include "api/comm_config.hpp"

#include <strings.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace strait::api {
namespace {

constexpr size_t kSmallestBytes = 24;  // the struct of NCCL 2.14

// The numbers of the struct: where they lie, which version brought them, what they may be.
struct Number {
  const char* name;
  int ncclConfig_t::*place;
  unsigned since;
  int low;
  int high;
};

constexpr Number kNumbers[] = {
    {"blocking", &ncclConfig_t::blocking, NCCL_VERSION(2, 14, 0), 0, 1},
    {"cgaClusterSize", &ncclConfig_t::cgaClusterSize, NCCL_VERSION(2, 17, 0), 0, INT_MAX},
    {"minCTAs", &ncclConfig_t::minCTAs, NCCL_VERSION(2, 17, 0), 1, INT_MAX},
    {"maxCTAs", &ncclConfig_t::maxCTAs, NCCL_VERSION(2, 17, 0), 1, INT_MAX},
    {"splitShare", &ncclConfig_t::splitShare, NCCL_VERSION(2, 17, 0), 0, 1},
    {"trafficClass", &ncclConfig_t::trafficClass, NCCL_VERSION(2, 25, 0), 0, 255},
    {"collnetEnable", &ncclConfig_t::collnetEnable, NCCL_VERSION(2, 27, 0), 0, 1},
    {"CTAPolicy", &ncclConfig_t::CTAPolicy, NCCL_VERSION(2, 27, 0), 0, 3},
    {"shrinkShare", &ncclConfig_t::shrinkShare, NCCL_VERSION(2, 27, 0), 0, 1},
    {"nvlsCTAs", &ncclConfig_t::nvlsCTAs, NCCL_VERSION(2, 27, 0), 1, INT_MAX},
    {"nChannelsPerNetPeer", &ncclConfig_t::nChannelsPerNetPeer, NCCL_VERSION(2, 28, 0), 1, 64},
    {"nvlinkCentricSched", &ncclConfig_t::nvlinkCentricSched, NCCL_VERSION(2, 28, 0), 0, 1},
    {"graphUsageMode", &ncclConfig_t::graphUsageMode, NCCL_VERSION(2, 29, 0), 0, 2},
    {"numRmaCtx", &ncclConfig_t::numRmaCtx, NCCL_VERSION(2, 29, 0), 0, INT_MAX},
    {"maxP2pPeers", &ncclConfig_t::maxP2pPeers, NCCL_VERSION(2, 30, 0), 0, INT_MAX},
    {"graphStreamOrdering", &ncclConfig_t::graphStreamOrdering, NCCL_VERSION(2, 30, 5), 0, 1},
    {"launchOrderImplicit", &ncclConfig_t::launchOrderImplicit, NCCL_VERSION(2, 31, 0), 0, 1},
    {"numRmaSig", &ncclConfig_t::numRmaSig, NCCL_VERSION(2, 31, 0), 0, INT_MAX},
    {"rmaEagerInit", &ncclConfig_t::rmaEagerInit, NCCL_VERSION(2, 31, 0), 0, 1},
    {"hostCftMode", &ncclConfig_t::hostCftMode, NCCL_VERSION(2, 31, 0), 1, 3},
    {"nvlsHostMode", &ncclConfig_t::nvlsHostMode, NCCL_VERSION(2, 32, 0), 0, INT_MAX},
};

// As config.def allows.
constexpr int kRmaContextsMax = 64;
constexpr int kRmaSignalsMax = 1024;

constexpr unsigned kNetNameSince = NCCL_VERSION(2, 17, 0);
constexpr unsigned kCommNameSince = NCCL_VERSION(2, 27, 0);

// The networks that there are, by NCCL's names.
constexpr const char* kNetNames[] = {"IB", "UCX", "Socket"};

bool is_set(int value) {
  return value != NCCL_CONFIG_UNDEF_INT;
}

// The caller's struct as one of today: what its size or its version does not cover is undefined.
Result<ncclConfig_t> read(const ncclConfig_t* options) {
  // Whoever passes something else passes at least its first fields.
  size_t size = 0;
  unsigned magic = 0;
  std::memcpy(&size, &options->size, sizeof size);
  std::memcpy(&magic, &options->magic, sizeof magic);
  if (magic != NCCL_API_MAGIC || size < kSmallestBytes)
    return error(Code::kInvalidArgument,
                 "config was not set up (size {}, magic {:#x}): start from NCCL_CONFIG_INITIALIZER",
                 size, magic);
  ncclConfig_t known = NCCL_CONFIG_INITIALIZER;
  std::memcpy(&known, options, std::min(size, sizeof known));
  for (const Number& number : kNumbers)
    if (known.version < number.since) known.*number.place = NCCL_CONFIG_UNDEF_INT;
  if (known.version < kNetNameSince) known.netName = nullptr;
  if (known.version < kCommNameSince) known.commName = nullptr;
  return known;
}

Status check_numbers(const ncclConfig_t& config) {
  for (const Number& number : kNumbers) {
    const int value = config.*number.place;
    if (is_set(value) && (value < number.low || value > number.high))
      return error(Code::kInvalidArgument, "config.{} is {}: it must be {} to {} or undefined",
                   number.name, value, number.low, number.high);
  }
  if (is_set(config.minCTAs) && is_set(config.maxCTAs) && config.minCTAs > config.maxCTAs)
    return error(Code::kInvalidArgument, "config.minCTAs {} is above config.maxCTAs {}",
                 config.minCTAs, config.maxCTAs);
  return Status();
}

Status apply_net(const char* name, Config& config) {
  if (name == nullptr || config.net != "any") return Status();
  std::string names;
  for (const char* known : kNetNames) {
    if (strcasecmp(known, name) == 0) {
      config.net = known;
      return Status();
    }
    names += (names.empty() ? "" : ", ") + std::string(known);
  }
  return error(Code::kInvalidUsage, "config.netName: there is no network \"{}\" here, but {}", name,
               names);
}

// A setting that the environment did not give.
void fill(int64_t& setting, int64_t open, int value) {
  if (setting == open && is_set(value)) setting = value;
}

}  // namespace

Status apply_comm_config(const ncclConfig_t* options, Config& config) {
  if (options == nullptr) return Status();
  STRAIT_ASSIGN(const ncclConfig_t wish, read(options));
  STRAIT_TRY(check_numbers(wish));
  STRAIT_TRY(apply_net(wish.netName, config));
  fill(config.blocking, -1, wish.blocking);
  fill(config.lanes_min, 0, wish.minCTAs);
  fill(config.lanes_max, 0, wish.maxCTAs);
  fill(config.split_share, -1, wish.splitShare);
  fill(config.shrink_share, -1, wish.shrinkShare);
  fill(config.traffic_class, -1, wish.trafficClass);
  fill(config.launch_order, -1, wish.launchOrderImplicit);
  fill(config.rma_contexts, -1, std::min(wish.numRmaCtx, kRmaContextsMax));
  fill(config.rma_signals, -1, std::min(wish.numRmaSig, kRmaSignalsMax));
  fill(config.rma_eager_init, -1, wish.rmaEagerInit);
  if (wish.commName != nullptr && config.comm_name.empty()) config.comm_name = wish.commName;
  return Status();
}

}  // namespace strait::api
