#include "exec/wire_policy.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace strait {
namespace {

constexpr std::array kModeOf = {codec::Mode::kRaw, codec::Mode::kFast, codec::Mode::kDense};
constexpr std::array kNameOf = {"raw", "fast", "dense"};
// Decoding, as a part of the time of encoding. A raw chunk is read where it lies.
constexpr std::array kDecodePart = {0.0, 1.0, 0.7};
// What a mode that was not measured yet is expected to be, beside fast.
constexpr std::array kTimeBesideFast = {0.4, 1.0, 3.0};

constexpr size_t kMeasurableBytes = 4096;  // below, fixed costs hide the rate
constexpr double kWeight = 1.0 / 8;        // of a new measurement
constexpr double kOutlier = 8;             // times the average: the thread was not running
constexpr double kGain = 0.98;             // of the present cost, for a change
constexpr double kUneven = 1.0 / 16;       // of the shorter stage that overlapping does not hide
constexpr uint32_t kProbeEvery = 256;      // chunks

double average(double old, double fresh) {
  return old == 0 ? fresh : old + kWeight * (fresh - old);
}

}  // namespace

double WirePolicy::ratio(const Values& values, size_t mode) const {
  if (mode == 0) return 1;
  return std::min(1.0, mode == kDense ? values.fast_ratio * values.dense_part : values.fast_ratio);
}

// Nanoseconds to encode and decode a byte of values.
double WirePolicy::coding(const Values& values, size_t mode) const {
  const double measured = values.ns_per_byte[mode];
  const double encode = measured > 0 ? measured : values.ns_per_byte[kFast] * kTimeBesideFast[mode];
  return encode * (1 + kDecodePart[mode]);
}

// Nanoseconds per byte of values. While the link's capacity is unknown, the most that raw can cost
// against the least that fast can.
double WirePolicy::cost(const Values& values, size_t mode) const {
  const double code = coding(values, mode);
  if (!link_.known && mode == kFast) return code;
  const double wire = ratio(values, mode) * 1e9 / link_.bytes_per_second;
  return std::max(wire, code) + std::min(wire, code) * kUneven;
}

size_t WirePolicy::cheapest(const Values& values) const {
  size_t best = values.current;
  double best_cost = cost(values, best) * kGain;
  const size_t modes = link_.known ? kModes : kFast + 1;
  for (size_t mode = 0; mode < modes; ++mode) {
    if (mode == values.current || cost(values, mode) >= best_cost) continue;
    best = mode;
    best_cost = cost(values, mode);
  }
  return best;
}

codec::Mode WirePolicy::choose(DataType type) {
  Values& values = values_[static_cast<size_t>(type)];
  ++choices_;
  ++values.choices;
  values.probed_bytes = 0;
  if (values.ns_per_byte[kFast] > 0 && link_.bytes_per_second > 0)
    values.current = cheapest(values);
  return kModeOf[values.current];
}

// Raw tells nothing about how small the values would be; the others are compared with each other.
std::optional<codec::Mode> WirePolicy::probe(DataType type) const {
  const Values& values = values_[static_cast<size_t>(type)];
  if (values.choices % kProbeEvery != 0 || !link_.known) return std::nullopt;
  return kModeOf[values.current == kFast ? kDense : kFast];
}

void WirePolicy::link_carries(LinkRate rate) {
  // What it did without being full is news only if it is more than is known.
  if (!rate.known && rate.bytes_per_second <= link_.bytes_per_second) return;
  if (rate.known && link_.known && link_.bytes_per_second > 0) {
    // Times are averaged, not rates: what others leave of a link comes in bursts.
    const double time = average(1 / link_.bytes_per_second, 1 / rate.bytes_per_second);
    rate.bytes_per_second = 1 / time;
  }
  rate.known = rate.known || link_.known;
  link_ = rate;
}

void WirePolicy::encoded(DataType type, codec::Mode asked, size_t value_bytes, size_t wire_bytes,
                         int64_t took_ns) {
  if (value_bytes < kMeasurableBytes || took_ns <= 0) return;
  Values& values = values_[static_cast<size_t>(type)];
  const auto mode = static_cast<size_t>(std::ranges::find(kModeOf, asked) - kModeOf.begin());
  double& ns_per_byte = values.ns_per_byte[mode];
  const double took = static_cast<double>(took_ns) / static_cast<double>(value_bytes);
  if (ns_per_byte == 0 || took < ns_per_byte * kOutlier) ns_per_byte = average(ns_per_byte, took);
  if (mode == 0) return;
  const auto bytes = static_cast<double>(wire_bytes);
  if (values.probed_bytes > 0 && values.current == mode) {
    const auto probed = static_cast<double>(values.probed_bytes);
    values.dense_part =
        average(values.dense_part, mode == kDense ? bytes / probed : probed / bytes);
  }
  const double as_fast = mode == kDense ? bytes / values.dense_part : bytes;
  values.fast_ratio = average(values.fast_ratio, as_fast / static_cast<double>(value_bytes));
  values.probed_bytes = wire_bytes;
}

std::string WirePolicy::take_change(DataType type) {
  Values& values = values_[static_cast<size_t>(type)];
  if (values.current == values.told) return {};
  const size_t before = values.told;
  values.told = values.current;
  const auto part = [&](size_t mode) { return cost(values, mode) / cost(values, before); };
  return fmt::format(
      "{} instead of {}: the link carries {}{:.3g} GB/s, fast leaves {:.3f} of these values, and "
      "they cost {:.2f} raw, {:.2f} fast, {:.2f} dense",
      kNameOf[values.current], kNameOf[before], link_.known ? "" : "at least ",
      link_.bytes_per_second / 1e9, values.fast_ratio, part(0), part(kFast), part(kDense));
}

}  // namespace strait
