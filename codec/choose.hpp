// Which window of exponents a block is coded with: the cheapest one, found from counts. The choice
// is the encoder's alone (the block's record tells the decoder), yet every implementation makes the
// same one, so all give the same bytes. Any thread; about a hundred instructions and what the
// kernels need to count.
#pragma once

#include "codec/kernels.hpp"

namespace strait::codec {

struct Window {
  uint8_t width = 0;
  uint8_t top = 0;
  uint32_t escapes = 0;
};

// zero_is_below: byte 0 stands for any exponent too low for a byte, so no window may hold it
// (fp64).
Window choose_window(const Shape& shape, const Kernels& kernels, const uint8_t* bytes,
                     bool zero_is_below, size_t n);

}  // namespace strait::codec
