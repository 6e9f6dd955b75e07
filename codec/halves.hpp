// The kernels for the two halves of bytes, put together from the target's others. Included by each
// target, in its own namespace (simd.hpp says why). Any thread; about an instruction per byte where
// there are vectors.
#pragma once

#include "codec/kernels.hpp"

namespace strait::codec::STRAIT_CODEC_TARGET {
namespace {

size_t pack_halves(const uint8_t* bytes, size_t n, int shift, uint8_t* bits, uint8_t* list) {
  alignas(64) uint8_t halves[kBlockValues];
  alignas(64) uint8_t taken[kBlockValues + kListSlack];
  for (size_t i = 0; i < n; ++i) halves[i] = static_cast<uint8_t>(bytes[i] >> shift & 15);
  const size_t count = pack_nonzero(halves, n, bits, taken);
  taken[count] = 0;
  const size_t pairs = (count + 1) / 2;
  for (size_t i = 0; i < pairs; ++i)
    list[i] = static_cast<uint8_t>(taken[2 * i] | taken[2 * i + 1] << 4);
  return pairs;
}

size_t unpack_halves(const uint8_t* bits, size_t n, int shift, const uint8_t* list,
                     size_t list_bytes, uint8_t* bytes) {
  alignas(64) uint8_t halves[kBlockValues];
  alignas(64) uint8_t given[kBlockValues];
  const size_t pairs = list_bytes < kBlockValues / 2 ? list_bytes : kBlockValues / 2;
  for (size_t i = 0; i < pairs; ++i) {
    given[2 * i] = list[i] & 15;
    given[2 * i + 1] = list[i] >> 4;
  }
  const size_t taken = unpack_nonzero(bits, n, given, 2 * pairs, halves);
  for (size_t i = 0; i < n; ++i) bytes[i] = static_cast<uint8_t>(bytes[i] | halves[i] << shift);
  return (taken + 1) / 2;
}

}  // namespace
}  // namespace strait::codec::STRAIT_CODEC_TARGET
