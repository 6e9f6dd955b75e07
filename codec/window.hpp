// Which window is the cheapest, once exponents are counted: the part of the choice that hosts and
// GPUs share, so that both make the same one. Pure functions, any thread; some ten instructions.
#pragma once

#include "codec/kernels.hpp"

namespace strait::codec {

inline constexpr uint32_t kMaxEscapeBytes = 255;

struct Window {
  uint8_t width = 0;
  uint8_t top = 0;
  uint32_t escapes = 0;
};

// The narrowest window that holds every exponent, or the plain exponents.
constexpr Window window_of_all(const Shape& shape, const ExponentRange& range, bool zero_is_below) {
  const auto plain = Window{shape.exponent_bits, 0, 0};
  if (zero_is_below && range.min == 0) return plain;
  if (range.min == range.max) return {0, static_cast<uint8_t>(range.max), 0};
  for (uint8_t width = 1; width < shape.exponent_bits && width < 8; ++width)
    if (range.max - range.min < (1u << width) - 1)
      return {width, static_cast<uint8_t>(range.max), 0};
  return plain;
}

// The cheapest of the windows found among n values; the plain exponents when none is cheaper.
constexpr Window cheapest_window(const Shape& shape, const ExponentBins& bins,
                                 const WindowPlaces& places, bool zero_is_below, size_t n) {
  const auto plane_bytes = static_cast<uint32_t>(bit_bytes(n));
  const auto escape_bytes = static_cast<uint32_t>(shape.top_bytes());
  Window best = {shape.exponent_bits, 0, 0};
  uint32_t best_bytes = best.width * plane_bytes;
  const int widths =
      shape.exponent_bits > kSearchedWidths ? kSearchedWidths : shape.exponent_bits - 1;
  for (int width = widths; width >= 1; --width) {
    const uint32_t escapes = places.outside[width - 1];
    const uint32_t total = static_cast<uint32_t>(width) * plane_bytes + escapes * escape_bytes;
    if (total > best_bytes || escapes * escape_bytes > kMaxEscapeBytes) continue;
    const int top = bins.top - places.first[width - 1];
    const int lowest = top - ((1 << width) - 2);
    // Bytes count modulo 256, the exponents of wider types do not.
    if (shape.exponent_bits > 8 && (top > 255 || lowest < (zero_is_below ? 1 : 0))) continue;
    best = {static_cast<uint8_t>(width), static_cast<uint8_t>(top), escapes};
    best_bytes = total;
  }
  return best;
}

}  // namespace strait::codec
