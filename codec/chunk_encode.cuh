// Encodes a chunk with a team of warps: the same bytes as the host's encode(). Values come from a
// source (values.cuh), which is read once, or twice where coding does not pay and they stay raw; so
// a source may make values as it goes, if it makes them again. Device code; every thread of the
// team calls together.
#pragma once

#include "codec/chunk_form.cuh"
#include "codec/tile_encode.cuh"
#include "codec/values.cuh"

namespace strait::codec::gpu {

inline constexpr uint32_t kLeastCoded = 64;  // bytes of values below which nothing is tried

// The first three words of a header, and the check over them.
struct HeaderWords {
  __device__ HeaderWords(const ChunkForm& form, Mode mode, uint32_t payload_bytes)
      : word{kMagic | uint32_t{kVersion} << 8 |
                 (static_cast<uint32_t>(mode) | (form.checksum ? kPayloadChecked : 0u)) << 16 |
                 static_cast<uint32_t>(form.type) << 24,
             form.count, payload_bytes} {}
  __device__ uint32_t check() const {
    return scrambled(word[0], 0) + scrambled(word[1], 1) + scrambled(word[2], 2);
  }
  uint32_t word[3];
};

// The encoder says which mode; the form may ask for raw values instead.
template <class Cut, class Team, class Encoder>
class ChunkEncoder {
 public:
  using Shared = EncodeShared<Team::kWarps>;

  __device__ ChunkEncoder(const Encoder& encoder, const Team& team, Shared& shared,
                          const Scratch& scratch)
      : team_(team), shared_(shared), tiles_(encoder, team, shared, scratch) {}

  // Returns the chunk's bytes, to all threads. The chunk starts at a multiple of 16 and has room
  // for the values and the header. `coded`: the type has an exponent.
  template <class Source>
  __device__ uint32_t encode(Source& source, const ChunkForm& form, bool coded, std::byte* chunk) {
    const uint32_t raw_bytes = form.count * Cut::kBytes;
    const bool tried = coded && form.mode >= Mode::kFast && raw_bytes >= kLeastCoded;
    uint32_t payload = 0;
    Mode mode = Encoder::kDense ? Mode::kDense : Mode::kFast;
    bool any = false;
    if (tried) payload = encode_tiles(source, form.count, raw_bytes, chunk + kHeaderBytes);
    if (payload != 0) {
      any = tiles_.any();
    } else {
      any = copy(source, form.count, chunk + kHeaderBytes);
      payload = raw_bytes;
      mode = Mode::kRaw;
    }
    any = team_sum(team_, shared_.reduced, any) != 0;
    if (!any && form.mode != Mode::kRaw && form.count != 0) {
      payload = 0;
      mode = Mode::kZero;
    }
    const HeaderWords header(form, mode, payload);
    uint32_t check = header.check();
    team_.sync();
    if (form.checksum) check += team_sum(team_, shared_.reduced, check_part(team_, chunk, payload));
    if (team_.thread() == 0)
      device::store16(chunk, make_uint4(header.word[0], header.word[1], header.word[2], check));
    return kHeaderBytes + payload;
  }

 private:
  // Returns the payload's bytes, or 0 when they would not be fewer than the values'.
  template <class Source>
  __device__ uint32_t encode_tiles(Source& source, uint32_t count, uint32_t raw_bytes,
                                   std::byte* payload) {
    uint32_t used = table_bytes(count);
    if (used >= raw_bytes) return 0;
    const auto tiles = static_cast<uint32_t>(tiles_of(count));
    tiles_.start(source, count);
    const uint32_t pad = 2 * tiles + team_.thread();
    if (pad < used) payload[pad] = std::byte{0};
    for (uint32_t tile = 0; tile < tiles; ++tile) {
      const auto first = tile * static_cast<uint32_t>(kTileValues);
      const uint32_t n = min(count - first, static_cast<uint32_t>(kTileValues));
      const uint32_t bytes = tiles_.encode(source, first, n, payload + used, raw_bytes - 1 - used);
      if (bytes == 0) return 0;
      if (team_.thread() == 0)
        reinterpret_cast<uint16_t*>(payload)[tile] = static_cast<uint16_t>(bytes / kAlign);
      used += bytes;
    }
    return used;
  }

  // The values as they are. Returns whether this thread saw a bit that is not zero.
  template <class Source>
  __device__ bool copy(Source& source, uint32_t count, std::byte* payload) const {
    const MemorySink<Cut::kBytes> sink(payload);
    uint32_t any = 0;
    const uint32_t step = Team::kWarps * static_cast<uint32_t>(kBlockValues);
    // What the coder wrote before is overwritten by other threads.
    team_.sync();
    for (uint32_t first = team_.warp * static_cast<uint32_t>(kBlockValues); first < count;
         first += step) {
      const uint32_t n = min(count - first, static_cast<uint32_t>(kBlockValues));
      Block<Cut::kBytes> block;
      if (n == kBlockValues) {
        source.template read<true>(first, n, block);
        sink.template write<true>(first, n, block);
      } else {
        source.template read<false>(first, n, block);
        sink.template write<false>(first, n, block);
      }
      for (int r = 0; r < kBlockRowsInt; ++r)
        for (int w = 0; w < Cut::kBytes; ++w) any |= block.word[r][w];
    }
    return any != 0;
  }

  const Team team_;
  Shared& shared_;
  TileEncoder<Cut, Team, Encoder> tiles_;
};

}  // namespace strait::codec::gpu
