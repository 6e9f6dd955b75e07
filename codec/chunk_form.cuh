// What both ends of a chunk know: what it is to hold, and the check over its bytes, which a team
// shares. Device code; every thread of the team calls together.
#pragma once

#include "codec/format.hpp"
#include "codec/frame.hpp"
#include "codec/team.cuh"

namespace strait::codec::gpu {

struct ChunkForm {
  DataType type;   // as the header says it; types without a cut of their own go raw
  Mode mode;       // the most that is tried
  bool checksum;   // cover the payload
  uint32_t count;  // values
  uint32_t value_bytes;
};

inline constexpr uint32_t kHeaderBytes = static_cast<uint32_t>(kChunkOverhead);

constexpr uint32_t table_bytes(uint32_t count) {
  return static_cast<uint32_t>(round_up(2 * tiles_of(count), kAlign));
}

// This thread's part of the check over so many bytes behind the header.
template <class Team>
__device__ __forceinline__ uint32_t check_part(const Team& team, const std::byte* chunk,
                                               uint32_t payload_bytes) {
  uint32_t sum = 0;
  const auto* const words = reinterpret_cast<const uint32_t*>(chunk);
  const uint32_t first = kHeaderBytes / 4, whole = payload_bytes / 4;
  for (uint32_t i = team.thread(); i < whole; i += Team::kThreads)
    sum += scrambled(words[first + i], first + i);
  if (team.thread() == 0 && payload_bytes % 4 != 0) {
    uint32_t word = 0;
    for (uint32_t b = 4 * whole; b < payload_bytes; ++b)
      word |= static_cast<uint32_t>(chunk[kHeaderBytes + b]) << (8 * (b % 4));
    sum += scrambled(word, first + whole);
  }
  return sum;
}

// The sum over the team; `reduced` has a word for each warp. Meets once more when all have it.
template <class Team>
__device__ uint32_t team_sum(const Team& team, uint32_t* reduced, uint32_t value) {
  const uint32_t mine = warp_sum(value);
  if constexpr (Team::kWarps == 1) return mine;
  if (device::lane_id() == 0) reduced[team.warp] = mine;
  team.sync();
  uint32_t sum = 0;
  for (uint32_t warp = 0; warp < Team::kWarps; ++warp) sum += reduced[warp];
  team.sync();
  return sum;
}

}  // namespace strait::codec::gpu
