// How fast the codec's kernels are on a few multiprocessors, next to a plain copy on as many in the
// same run. One call, the thread of the Gpu; some seconds, and a gigabyte of its memory.
#pragma once

#include <cstddef>
#include <span>

#include "perf/device/codec_kernels.hpp"

namespace strait::device_check {

struct SpeedTerms {
  size_t bytes = size_t{128} << 20;  // of values
  int runs = 15;                     // of which the median counts
  std::vector<unsigned> multiprocessors = {1, 2, 5, 10, 20};
};

// `gradients` are bfloat16 values, repeated to the size.
Status measure_codec(const Gpu& gpu, CodecKernels& kernels, const SpeedTerms& terms,
                     std::span<const std::byte> gradients);

}  // namespace strait::device_check
