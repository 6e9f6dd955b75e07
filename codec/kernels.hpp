// The inner loops of the codec: cutting values into parts, counting, packing bits, short lists of
// what does not fit. One implementation per instruction set, all giving the same bytes;
// best_kernels() picks by the processor's features. Pure functions on arrays of one block that stay
// in the first-level cache; any thread.
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

inline constexpr size_t kListSlack = 64;  // kernels may write that far beyond a list
inline constexpr int kHistogramBins = 16;
inline constexpr int kHistogramAboveMean = 6;

struct ExponentCounts {
  uint32_t min = 0;
  uint32_t max = 0;
  uint32_t zeros = 0;  // how many are zero
  int top = 0;  // the exponent of bin 0: a little above the mean of what is not zero, at most max
  uint32_t bins[kHistogramBins] = {};  // bin k counts exponent top - k
};

struct Kernels {
  const char* name;
  // Everywhere: 0 < n <= kBlockValues, and only the portable kernels take n below kBlockValues.
  void (*split)(const Shape& shape, const void* values, size_t n, BlockParts& parts);
  void (*join)(const Shape& shape, const BlockParts& parts, size_t n, void* values);
  void (*count)(const uint8_t* bytes, size_t n, ExponentCounts& counts);
  size_t (*count_zeros)(const uint8_t* bytes, size_t n, uint8_t mask);  // of byte & mask
  // Bit p of all codes makes the p-th of `width` planes, bit_bytes(n) bytes each.
  void (*pack_bits)(const uint8_t* codes, size_t n, size_t width, uint8_t* planes);
  void (*unpack_bits)(const uint8_t* planes, size_t n, size_t width, uint8_t* codes);
  // Codes are min(top - byte modulo 256, 2^width - 1), packed; bytes with the largest code are
  // appended to list, which has room for n + kListSlack. Returns how many.
  size_t (*pack_window)(const uint8_t* bytes, size_t n, size_t width, uint8_t top, uint8_t* planes,
                        uint8_t* list);
  // The reverse; every byte is reduced by mask. Returns how many bytes of the list belong to it,
  // which may be more than list_bytes (then nothing sensible is in bytes). Reads nothing beyond
  // list_bytes.
  size_t (*unpack_window)(const uint8_t* planes, size_t n, size_t width, uint8_t top, uint8_t mask,
                          const uint8_t* list, size_t list_bytes, uint8_t* bytes);
  // A bit for each byte that is not zero, and those bytes appended to list, which has room for n +
  // kListSlack. Returns how many.
  size_t (*pack_nonzero)(const uint8_t* bytes, size_t n, uint8_t* bits, uint8_t* list);
  // The reverse; returns as unpack_window.
  size_t (*unpack_nonzero)(const uint8_t* bits, size_t n, const uint8_t* list, size_t list_bytes,
                           uint8_t* bytes);
};

const Kernels& portable_kernels();

}  // namespace strait::codec
