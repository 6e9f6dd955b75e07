#include "exec/coding.hpp"

#include "base/clock.hpp"
#include "base/log.hpp"

namespace strait {
namespace {

codec::Mode choose(SendPort& port, DataType type) {
  if (port.policy.wants_rate()) port.policy.link_carries(port.link->rate());
  return port.policy.choose(type);
}

void tell_change(SendPort& port, DataType type) {
  if (!port.tells) return;
  if (const std::string change = port.policy.take_change(type); !change.empty())
    log_info(LogPart::kTuning, "rank {} to {}, {}: {}", port.rank, port.peer, name_of(type),
             change);
}

size_t encode_as_chosen(SendPort& port, codec::Options options, DataType type, const void* values,
                        size_t count) {
  WirePolicy& policy = port.policy;
  const auto encode = [&](codec::Mode mode) {
    options.mode = mode;
    const int64_t began_ns = now_ns();
    const size_t bytes = codec::encode(type, values, count, port.held, options);
    policy.encoded(type, mode, count * size_of(type), bytes, now_ns() - began_ns);
    return bytes;
  };
  const codec::Mode mode = choose(port, type);
  if (const auto probe = policy.probe(type)) encode(*probe);
  const size_t bytes = encode(mode);
  tell_change(port, type);
  return bytes;
}

}  // namespace

void count_coded(SendPort& port, TrafficCounters& traffic, size_t value_bytes, size_t wire_bytes) {
  count_bytes(traffic.coded_value_bytes, value_bytes);
  count_bytes(traffic.coded_wire_bytes, wire_bytes);
  count_bytes(port.coded_value_bytes, value_bytes);
  count_bytes(port.coded_wire_bytes, wire_bytes);
}

codec::Mode next_mode(SendPort& port, DataType type) {
  const codec::Mode mode = choose(port, type);
  tell_change(port, type);
  return port.policy.probe(type).value_or(mode);
}

size_t encode_into_slot(SendPort& port, TrafficCounters& traffic, const Coding& coding,
                        DataType type, const void* values, size_t count) {
  const size_t bytes = coding.chooses_mode
                           ? encode_as_chosen(port, coding.options, type, values, count)
                           : codec::encode(type, values, count, port.held, coding.options);
  count_coded(port, traffic, count * size_of(type), bytes);
  return bytes;
}

}  // namespace strait
