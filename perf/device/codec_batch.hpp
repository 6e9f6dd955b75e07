// Arrays that are coded on the GPU and on the host, and must come out the same: chunks byte for
// byte, decoded values bit for bit, sums as the host's arithmetic has them, and not a byte written
// beside them. One call; it blocks; the thread of the Gpu.
#pragma once

#include <cstdint>
#include <span>

#include "codec/codec.hpp"
#include "perf/device/codec_kernels.hpp"

namespace strait::device_check {

struct CodecItem {
  std::span<const uint8_t> values;
  size_t offset = 0;  // of their address from a multiple of 16
  codec::Options options;
};

// All items by one launch of each kernel, with so many blocks.
Status check_codec(const Gpu& gpu, CodecKernels& kernels, DataType type,
                   std::span<const CodecItem> items, unsigned blocks);

}  // namespace strait::device_check
