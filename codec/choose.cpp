#include "codec/choose.hpp"

#include <algorithm>

namespace strait::codec {
namespace {

constexpr int kAboveMean = 6;
constexpr size_t kMaxHistogramWidth = 4;  // a window of 15 exponents fits the bins

// A window that holds every exponent, or the plain exponents where that is as small.
Window window_of_all(const Shape& shape, const ExponentCounts& counts) {
  const ExponentRange& range = counts.range;
  const auto plain = Window{shape.exponent_bits, 0, 0};
  if (counts.zero_is_below && range.min == 0) return plain;
  if (range.min == range.max) return {0, static_cast<uint8_t>(range.max), 0};
  for (uint8_t width = 1; width < shape.exponent_bits && width < 8; ++width)
    if (range.max - range.min < (1u << width) - 1)
      return {width, static_cast<uint8_t>(range.max), 0};
  return plain;
}

}  // namespace

int histogram_top(const ExponentRange& range, size_t n) {
  const size_t rest = n - range.zeros;
  const int mean = rest == 0 ? 0 : static_cast<int>(range.sum / rest);
  return std::min(mean + kAboveMean, static_cast<int>(range.max));
}

Window choose_window(const Shape& shape, const ExponentCounts& counts, size_t n) {
  const size_t plane_bytes = bit_bytes(n);
  const size_t escape_bytes = shape.top_bytes();
  Window best = window_of_all(shape, counts);
  size_t best_bytes = best.width * plane_bytes;
  const size_t widths = std::min<size_t>(kMaxHistogramWidth, shape.exponent_bits - 1u);
  for (size_t width = 1; width <= widths; ++width) {
    const int span = (1 << width) - 1;
    uint32_t inside = 0;
    for (int k = 0; k < span; ++k) inside += counts.bins[k];
    for (int first = 0;; ++first) {
      const int lowest = counts.histogram_top - first - (span - 1);
      const bool allowed = !counts.zero_is_below || lowest > 0;
      const size_t escapes = n - inside;
      const size_t bytes = width * plane_bytes + escapes * escape_bytes;
      if (allowed && bytes < best_bytes && escapes * escape_bytes <= 255) {
        best = {static_cast<uint8_t>(width), static_cast<uint8_t>(counts.histogram_top - first),
                static_cast<uint32_t>(escapes)};
        best_bytes = bytes;
      }
      if (first + span == kHistogramBins) break;
      inside += counts.bins[first + span];
      inside -= counts.bins[first];
    }
  }
  return best;
}

}  // namespace strait::codec
