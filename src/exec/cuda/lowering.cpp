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

uint64_t aligned(uint64_t bytes) {
  return (bytes + kStagingAlignment - 1) / kStagingAlignment * kStagingAlignment;
}

// What leaves coded may pass through memory of the lane's own.
uint64_t leaving_bytes(const Lane& lane, size_t element_bytes) {
  uint64_t count = 0;
  for (const Step& step : lane.steps)
    if (step.send_wire == Wire::kCoded) count = std::max(count, std::min(step.count, lane.piece));
  return aligned(count * element_bytes);
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

uint64_t coder_staging_bytes(DataType type) {
  return aligned(codec::encode_scratch_bytes(type) / codec::kCodecTeams);
}

LoweredPlan lower(const Plan& plan, DataType type, const PortOf& port_of) {
  LoweredPlan lowered;
  for (size_t i = 0; i < plan.lanes.size(); ++i) {
    const Lane& lane = plan.lanes[i];
    const uint64_t leaving = leaving_bytes(lane, size_of(type));
    lowered.lanes.push_back({.piece = lane.piece,
                             .rounds = round_count(lane),
                             .first_step = static_cast<uint32_t>(lowered.steps.size()),
                             .step_count = static_cast<uint32_t>(lane.steps.size()),
                             .staging = leaving > 0 ? lowered.staging_bytes : kNoStaging,
                             .staging_stride = leaving,
                             .next = kNoLane,
                             .type = static_cast<uint32_t>(type),
                             .tag = 0});
    if (leaving > 0) lowered.staging_bytes += leaving + coder_staging_bytes(type);
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

DeviceCoding lower(const Coding& coding) {
  return {.mode = static_cast<uint8_t>(coding.options.mode),
          .chosen = static_cast<uint8_t>(coding.chooses_mode),
          .checksum = static_cast<uint8_t>(coding.options.checksum)};
}

DeviceArithmetic lower(const Arithmetic& arithmetic, const Request& request) {
  return {.operation = lower(arithmetic.kind),
          .scales_input = reduces(request.collective) && arithmetic.has_scale,
          .scale_float = arithmetic.scale_float,
          .scale_integer = arithmetic.scale_integer,
          .divisor = arithmetic.divisor};
}

}  // namespace strait
