#include "exec/cuda/lowering.hpp"

#include <algorithm>

#include "codec/device.hpp"
#include "plan/interpreter.hpp"

namespace strait {
namespace {

constexpr uint64_t kStagingAlignment = 256;

DevicePlace lower(const std::optional<Place>& place) {
  if (!place) return {.offset = 0, .buffer = DeviceBuffer::kNone};
  switch (place->buffer) {
    case Buffer::kInput:
      return {.offset = place->offset, .buffer = DeviceBuffer::kInput};
    case Buffer::kOutput:
      return {.offset = place->offset, .buffer = DeviceBuffer::kOutput};
    case Buffer::kScratch:
      break;
  }
  return {.offset = place->offset, .buffer = DeviceBuffer::kScratch};
}

// What is coded on either side passes through memory of the lane's own: one part for what arrives,
// one for what leaves, and the coder's scratch. Bytes of one part.
uint64_t staging_of(const Lane& lane, size_t element_bytes) {
  uint64_t count = 0;
  for (const Step& step : lane.steps)
    if (step.recv_wire == Wire::kCoded || step.send_wire == Wire::kCoded)
      count = std::max(count, std::min(step.count, lane.piece));
  return (count * element_bytes + kStagingAlignment - 1) / kStagingAlignment * kStagingAlignment;
}

uint64_t coder_bytes(DataType type) {
  const uint64_t bytes = codec::encode_scratch_bytes(type) / codec::kCodecTeams;
  return (bytes + kStagingAlignment - 1) / kStagingAlignment * kStagingAlignment;
}

DeviceOperation lower(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::kProd:
      return DeviceOperation::kProd;
    case ReduceKind::kMax:
      return DeviceOperation::kMax;
    case ReduceKind::kMin:
      return DeviceOperation::kMin;
    case ReduceKind::kSum:
    case ReduceKind::kAvg:
    case ReduceKind::kPreMulSum:
      break;
  }
  return DeviceOperation::kSum;
}

}  // namespace

LoweredPlan lower(const Plan& plan, DataType type, const PortOf& port_of) {
  LoweredPlan lowered;
  for (size_t i = 0; i < plan.lanes.size(); ++i) {
    const Lane& lane = plan.lanes[i];
    lowered.lanes.push_back({.piece = lane.piece,
                             .rounds = round_count(lane),
                             .first_step = static_cast<uint32_t>(lowered.steps.size()),
                             .step_count = static_cast<uint32_t>(lane.steps.size()),
                             .staging = lowered.staging_bytes,
                             .staging_stride = staging_of(lane, size_of(type)),
                             .next = kNoLane,
                             .type = static_cast<uint32_t>(type),
                             .tag = 0});
    const uint64_t stride = lowered.lanes.back().staging_stride;
    if (stride > 0) lowered.staging_bytes += 2 * stride + coder_bytes(type);
    const auto port = [&](Direction direction, const Step& step, int peer) {
      return step.count == 0 || peer == kNoPeer ? nullptr : port_of(direction, i, peer);
    };
    for (const Step& step : lane.steps)
      lowered.steps.push_back({.count = step.count,
                               .source = lower(step.source),
                               .addend = lower(step.addend),
                               .target = lower(step.target),
                               .recv_port = port(Direction::kReceive, step, step.recv_from),
                               .send_port = port(Direction::kSend, step, step.send_to),
                               .recv_coded = step.recv_wire == Wire::kCoded,
                               .send_coded = step.send_wire == Wire::kCoded,
                               .finish = step.finish});
  }
  return lowered;
}

DeviceArithmetic lower(const Arithmetic& arithmetic, const Request& request) {
  return {.operation = lower(arithmetic.kind),
          .scales_input = reduces(request.collective) && arithmetic.has_scale,
          .scale_float = arithmetic.scale_float,
          .scale_integer = arithmetic.scale_integer,
          .divisor = arithmetic.divisor};
}

}  // namespace strait
