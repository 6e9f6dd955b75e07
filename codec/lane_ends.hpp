// The kernel that makes the streams of lanes out of their pieces. Included by each target, in its
// own namespace (simd.hpp says why). Any thread; about a dozen instructions per eight values.
#pragma once

#include "codec/kernels.hpp"

namespace strait::codec::STRAIT_CODEC_TARGET {
namespace {

// The end of a stream that grows.
struct LaneEnd {
  uint8_t* at;
  uint64_t waiting = 0;  // fewer than eight bits between pieces
  uint32_t count = 0;

  void append(uint64_t bits, uint32_t length) {
    const uint64_t next = waiting | bits << count;
    __builtin_memcpy(at, &next, 8);
    const uint32_t total = count + length;
    at += total / 8;
    // Shifts are modulo 64: where eight whole bytes are stored, this leaves what did not fit.
    waiting = total < 64 ? next >> (total & ~7u) : count == 0 ? 0 : bits >> (64 - count);
    count = total & 7;
  }
  void finish() const { __builtin_memcpy(at, &waiting, 8); }
};

// Two neighbouring lanes at once, as each waits for its own last piece.
void append_lanes(const LanePieces& pieces, size_t lane, uint8_t* even_out, uint8_t* odd_out) {
  LaneEnd even{even_out}, odd{odd_out};
  const size_t used = pieces.used;
  for (size_t at = lane; at < used; at += kLanes) {
    even.append(pieces.bits[at], pieces.count[at]);
    odd.append(pieces.bits[at + 1], pieces.count[at + 1]);
  }
  even.finish();
  odd.finish();
}

}  // namespace
}  // namespace strait::codec::STRAIT_CODEC_TARGET
