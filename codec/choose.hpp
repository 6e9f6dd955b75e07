// Which window of exponents a block is coded with: the cheapest one, found from counts. The choice
// is the encoder's alone (the block's record tells the decoder), yet every implementation makes the
// same one, so all give the same bytes. Pure integer functions; any thread.
#pragma once

#include "codec/kernels.hpp"

namespace strait::codec {

struct ExponentCounts {
  ExponentRange range;
  int histogram_top = 0;  // the exponent of bin 0; bin k holds exponent histogram_top - k
  uint32_t bins[kHistogramBins] = {};
  bool zero_is_below = false;  // byte 0 stands for any exponent too low for a byte (fp64)
};

struct Window {
  uint8_t width = 0;
  uint8_t top = 0;
  uint32_t escapes = 0;
};

// Where the histogram should start: a little above the mean of what is not zero, never above the
// largest.
int histogram_top(const ExponentRange& range, size_t n);

Window choose_window(const Shape& shape, const ExponentCounts& counts, size_t n);

}  // namespace strait::codec
