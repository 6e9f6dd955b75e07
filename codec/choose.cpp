#include "codec/choose.hpp"

#include <algorithm>

namespace strait::codec {
namespace {

constexpr size_t kMaxSearchedWidth = 4;  // a window of 15 exponents fits the bins
constexpr uint32_t kMaxEscapeBytes = 255;

// A window that holds every exponent, or the plain exponents where that is as small.
Window window_of_all(const Shape& shape, const ExponentCounts& counts, bool zero_is_below) {
  const auto plain = Window{shape.exponent_bits, 0, 0};
  if (zero_is_below && counts.min == 0) return plain;
  if (counts.min == counts.max) return {0, static_cast<uint8_t>(counts.max), 0};
  for (uint8_t width = 1; width < shape.exponent_bits && width < 8; ++width)
    if (counts.max - counts.min < (1u << width) - 1)
      return {width, static_cast<uint8_t>(counts.max), 0};
  return plain;
}

}  // namespace

Window choose_window(const Shape& shape, const ExponentCounts& counts, bool zero_is_below,
                     size_t n) {
  Window best = window_of_all(shape, counts, zero_is_below);
  uint32_t below[kHistogramBins + 1] = {};  // counts of the bins before
  for (int k = 0; k < kHistogramBins; ++k) below[k + 1] = below[k] + counts.bins[k];
  const auto plane_bytes = static_cast<uint32_t>(bit_bytes(n));
  const auto escape_bytes = static_cast<uint32_t>(shape.top_bytes());
  uint32_t best_bytes = best.width * plane_bytes;
  const size_t widths = std::min<size_t>(kMaxSearchedWidth, shape.exponent_bits - 1u);
  for (size_t width = 1; width <= widths; ++width) {
    const int span = (1 << width) - 1;
    int positions = kHistogramBins - span + 1;
    if (zero_is_below) positions = std::min(positions, counts.top - span + 1);
    uint32_t most = 0;  // what the fullest window holds, and (in the low bits) that it comes first
    for (int first = 0; first < positions; ++first)
      most = std::max(most, (below[first + span] - below[first]) * 32 + (31 - first));
    const uint32_t escapes = static_cast<uint32_t>(n) - most / 32;
    const uint32_t bytes = static_cast<uint32_t>(width) * plane_bytes + escapes * escape_bytes;
    if (bytes >= best_bytes || escapes * escape_bytes > kMaxEscapeBytes) continue;
    best = {static_cast<uint8_t>(width), static_cast<uint8_t>(counts.top - (31 - most % 32)),
            escapes};
    best_bytes = bytes;
  }
  return best;
}

}  // namespace strait::codec
