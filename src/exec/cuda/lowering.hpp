// From a plan to what a kernel reads: peers become ports, and the options of steps become plain
// fields. Pure; any thread; once per plan.
#pragma once

#include <functional>
#include <vector>

#include "exec/coding.hpp"
#include "exec/cuda/device_call.hpp"
#include "exec/reduce.hpp"
#include "plan/plan.hpp"
#include "plan/request.hpp"

namespace strait {

struct LoweredPlan {
  std::vector<DeviceLane> lanes;
  std::vector<DeviceStep> steps;
  uint64_t staging_bytes = 0;
};

enum class Direction : uint8_t { kSend, kReceive };
// The port of the link between this rank and `peer` on a lane of the plan.
using PortOf = std::function<DevicePort*(Direction direction, size_t lane, int peer)>;

LoweredPlan lower(const Plan& plan, DataType type, const PortOf& port_of);

// What the coder of a lane needs besides values, of a float type.
uint64_t coder_staging_bytes(DataType type);

DeviceCoding lower(const Coding& coding);

DeviceArithmetic lower(const Arithmetic& arithmetic, const Request& request);

}  // namespace strait
