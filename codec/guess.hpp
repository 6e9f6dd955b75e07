// The kernels that guess a block's window and survey its exponents, put together from the target's
// others. Included by each
// target that has no better way, in its own namespace (simd.hpp says why). Any thread; a few
// hundred instructions.
#pragma once

#include "codec/kernels.hpp"

namespace strait::codec::STRAIT_CODEC_TARGET {
namespace {

void guess_window(const uint8_t* bytes, int exponent_bits, WindowGuess& guess) {
  constexpr size_t kSample = 2 * kSampleValues;
  ExponentBins bins;
  WindowPlaces places;
  count_sample(bytes, bytes + kBlockValues / 2, bins);
  find_windows(bins, kSample, places);
  guess.width = 0;
  if (places.outside[1] == 0) return;
  uint32_t least = static_cast<uint32_t>(exponent_bits) * bit_bytes(kSample);
  for (int width = exponent_bits > kSearchedWidths ? kSearchedWidths : exponent_bits - 1;
       width >= 2; --width) {
    const uint32_t total =
        static_cast<uint32_t>(width) * bit_bytes(kSample) + places.outside[width - 1];
    if (total > least) continue;
    least = total;
    guess.width = static_cast<uint8_t>(width);
    guess.top = static_cast<uint8_t>(bins.top - places.first[width - 1]);
  }
}

void survey(const uint8_t* bytes, size_t block, TileCounts& counts) {
  ExponentBins bins;
  bins.top = static_cast<int>(sum(bytes, kBlockValues) / kBlockValues) + kAboveMean;
  count(bytes, kBlockValues, bins);
  counts.top[block] = bins.top;
  counts.zeros[block] = static_cast<uint16_t>(count_zeros(bytes, kBlockValues, 0xFF));
  for (int k = 0; k < kBins; ++k) counts.bins[block][k] = bins.count[k];
}

}  // namespace
}  // namespace strait::codec::STRAIT_CODEC_TARGET
