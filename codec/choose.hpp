// Which window of exponents a block is coded with: the cheapest one, found from counts. The choice
// is the encoder's alone (the block's record tells the decoder), yet every implementation makes the
// same one, so all give the same bytes. Any thread; about a hundred instructions and what the
// kernels need to count.
#pragma once

#include "codec/window.hpp"

namespace strait::codec {

// The bins hold what was counted. zero_is_below: byte 0 stands for any exponent too low for a byte,
// so no window may hold it (fp64).
Window choose_window(const Shape& shape, const Kernels& kernels, const uint8_t* bytes,
                     bool zero_is_below, size_t n, ExponentBins& bins);

// The cheapest exponent table for a full block.
struct TableChoice {
  uint32_t table = 0;
  uint32_t bits = 0;  // about; what bins do not hold is taken for escapes
};
// What tables have prices of (kPriced), out of a full block's bins from top down and its zeros.
void price_counts(const uint16_t bins[kBins], int top, uint32_t zeros, uint16_t counts[kPriced]);
TableChoice choose_table(const Kernels& kernels, const uint8_t* bytes, bool zero_is_below,
                         const ExponentBins& bins);

}  // namespace strait::codec
