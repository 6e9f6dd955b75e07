// ncclGroupSimulateEnd: how long a group would take.

#include <algorithm>
#include <cstring>

#include "api/export.hpp"
#include "api/result.hpp"
#include "comm/group.hpp"
#include "nccl.h"

namespace strait::api {
namespace {

constexpr unsigned kMagic = 0x74685283;

// The group ends whatever is wrong with simInfo.
Status simulate_end(ncclSimInfo_t* out) {
  const Result<double> estimate_us = Group::current().simulate_end();
  if (!estimate_us.ok()) return estimate_us.status();
  if (out == nullptr)
    return error(Code::kInvalidArgument, "simInfo is NULL: give it a place to go");
  ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
  std::memcpy(&info.size, &out->size, sizeof info.size);
  std::memcpy(&info.magic, &out->magic, sizeof info.magic);
  const size_t known = std::min(info.size, sizeof info);
  if (info.magic != kMagic || known < sizeof info)
    return error(Code::kInvalidArgument,
                 "simInfo was not set up (size {}, magic {:#x}): start from "
                 "NCCL_SIM_INFO_INITIALIZER",
                 info.size, info.magic);
  out->estimatedTime = static_cast<float>(*estimate_us);
  return Status();
}

}  // namespace
}  // namespace strait::api

STRAIT_API(ncclResult_t, GroupSimulateEnd, (ncclSimInfo_t * simInfo)) {
  return strait::api::guarded("ncclGroupSimulateEnd",
                              [&] { return strait::api::simulate_end(simInfo); });
}
