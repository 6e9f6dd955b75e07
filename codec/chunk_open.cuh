// The header of a chunk, checked by a team that is about to read the rest. Device code; every
// thread of the team calls together; the check of a payload reads it once.
#pragma once

#include "codec/chunk_form.cuh"

namespace strait::codec::gpu {

// What is wrong with a chunk; the numbers are for messages.
enum class Fault : uint32_t {
  kNone = 0,
  kHeader = 1,  // no header of this version, or its check does not match
  kForm = 2,    // another type or count than expected, or a length that does not fit
  kTile = 3,    // a tile does not hold what it says
};

struct OpenedChunk {
  Fault fault;
  Mode mode;
  uint32_t payload_bytes;
};

// The chunk starts at a multiple of 16 and must hold form.count values of form.type; `coded`: the
// type has an exponent. `reduced` is shared memory, a word for each warp. The answer is the same
// for all threads; none reads beyond `room` bytes.
template <class Team>
__device__ OpenedChunk open_chunk(const Team& team, uint32_t* reduced, const std::byte* chunk,
                                  uint32_t room, const ChunkForm& form, bool coded) {
  const OpenedChunk no_header = {Fault::kHeader, Mode::kRaw, 0};
  if (room < kHeaderBytes) return no_header;
  const uint4 header = device::load16(chunk);
  const uint32_t mode = header.x >> 16 & 0x7F, payload_bytes = header.z;
  if ((header.x & 0xFFFF) != (kMagic | uint32_t{kVersion} << 8) ||
      mode > static_cast<uint32_t>(Mode::kDense) || payload_bytes > room - kHeaderBytes)
    return no_header;
  uint32_t check = scrambled(header.x, 0) + scrambled(header.y, 1) + scrambled(header.z, 2);
  if ((header.x >> 16 & kPayloadChecked) != 0)
    check += team_sum(team, reduced, check_part(team, chunk, payload_bytes));
  if (check != header.w) return no_header;
  OpenedChunk opened = {Fault::kNone, static_cast<Mode>(mode), payload_bytes};
  const bool is_coded = opened.mode == Mode::kFast || opened.mode == Mode::kDense;
  const uint32_t whole =
      opened.mode == Mode::kRaw ? form.count * static_cast<uint32_t>(form.value_bytes) : 0;
  if (header.x >> 24 != static_cast<uint32_t>(form.type) || header.y != form.count ||
      (is_coded ? !coded : payload_bytes != whole))
    opened.fault = Fault::kForm;
  return opened;
}

}  // namespace strait::codec::gpu
