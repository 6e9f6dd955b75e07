// codec_trial: how small a block of values becomes and how fast, chunk by chunk as on a link, and
// whether every byte comes back. Pure but for the clock; runs on as many threads as it is told,
// which have ended when it returns. Needs twice the values' bytes of memory for as long as it runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "codec/codec.hpp"

namespace strait::tool {

struct TrialSetup {
  codec::Options options;
  size_t chunk_bytes = 64 << 10;  // of values; a multiple of every element's size
  int threads = 1;
};

struct Trial {
  uint64_t bytes = 0;
  uint64_t wire_bytes = 0;  // chunks with their headers
  double encode_s = 0;      // median of the passes, of all threads together
  double decode_s = 0;
  bool exact = true;
};

Trial try_codec(DataType type, std::span<const std::byte> values, const TrialSetup& setup);

}  // namespace strait::tool
