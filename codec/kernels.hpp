// The inner loops of the codec: cutting values into parts, counting, packing bits, short lists of
// what does not fit. One implementation per instruction set, all giving the same bytes;
// dispatch.hpp picks one. Pure functions on arrays of one block that fit the first-level cache; any
// thread.
#pragma once

#include "codec/format.hpp"

namespace strait::codec {

// One block, cut. Fields of the type's exponent, byte planes and bit planes; the rest is unused.
struct alignas(64) BlockParts {
  uint8_t exponent[kBlockValues];       // its low eight bits
  uint8_t exponent_high[kBlockValues];  // what exceeds them (fp64)
  uint8_t bits[kBlockValues];           // the residual's bits above its byte planes
  uint8_t plane[kMaxBytePlanes][kBlockValues];
};

inline constexpr int kHistogramBins = 16;

struct ExponentRange {
  uint32_t min = 0;
  uint32_t max = 0;
  uint32_t zeros = 0;  // how many are zero
  uint32_t sum = 0;
};

struct Kernels {
  // n is at most kBlockValues everywhere.
  void (*split)(const Shape& shape, const void* values, size_t n, BlockParts& parts);
  void (*join)(const Shape& shape, const BlockParts& parts, size_t n, void* values);
  ExponentRange (*range)(const uint8_t* bytes, size_t n);
  // counts[k]: how many bytes are top - k
  void (*histogram)(const uint8_t* bytes, size_t n, int top, uint32_t counts[kHistogramBins]);
  size_t (*count_zeros)(const uint8_t* bytes, size_t n, uint8_t mask);  // of byte & mask
  // codes = min(top - byte modulo 256, escape)
  void (*window_codes)(const uint8_t* bytes, size_t n, uint8_t top, uint8_t escape, uint8_t* codes);
  // Bit p of all codes makes the p-th of `width` planes, bit_bytes(n) bytes each.
  void (*pack_bits)(const uint8_t* codes, size_t n, size_t width, uint8_t* planes);
  void (*unpack_bits)(const uint8_t* planes, size_t n, size_t width, uint8_t* codes);
  // Appends the bytes whose code is `escape` to list; returns how many.
  size_t (*gather_escapes)(const uint8_t* codes, const uint8_t* bytes, size_t n, uint8_t escape,
                           uint8_t* list);
  // bytes = (top - code) & mask, or the list's next where the code is `escape`. Returns how many
  // were taken, or more than list_bytes (and nothing sensible in bytes) when the list is too short.
  size_t (*place_window)(const uint8_t* codes, size_t n, uint8_t top, uint8_t mask, uint8_t escape,
                         const uint8_t* list, size_t list_bytes, uint8_t* bytes);
};

const Kernels& portable_kernels();

}  // namespace strait::codec
