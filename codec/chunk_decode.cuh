// Decodes a chunk with a team of warps and hands the values on, block by block, to a sink
// (values.cuh) that stores them, adds them to others, or codes them again. Blocks are spread over
// the warps in the fast mode, tiles in the dense mode, whose streams must be read in order.
// Damaged bytes give a fault or other values, never an access out of bounds. Device code; every
// thread of the team calls together.
#pragma once

#include "codec/chunk_open.cuh"
#include "codec/tile_read.cuh"
#include "codec/values.cuh"

namespace strait::codec::gpu {

template <int kWarps>
struct DecodeShared {
  uint32_t reduced[kWarps];
  uint4 lanes[kWarps][kWarpLanes];  // for sixteen bytes of each
};

template <class Cut, class Team>
class ChunkDecoder {
 public:
  using Shared = DecodeShared<Team::kWarps>;

  __device__ ChunkDecoder(const DecodeTables& tables, const Team& team, Shared& shared)
      : tables_(tables), team_(team), shared_(shared) {}

  // The chunk starts at a multiple of 16 and must hold form.count values of form.type; `coded`: the
  // type has an exponent. Returns what is wrong, to all threads; the sink may have seen some blocks
  // then. No thread reads beyond `room` bytes.
  template <class Sink>
  __device__ Fault decode(const std::byte* chunk, uint32_t room, const ChunkForm& form, bool coded,
                          const Sink& sink) const {
    fetch_ahead(chunk, min(room, kBytesAhead));
    const OpenedChunk opened = open_chunk(team_, shared_.reduced, chunk, room, form, coded);
    if (opened.fault != Fault::kNone) return opened.fault;
    if (form.count == 0) return Fault::kNone;
    const std::byte* const values = chunk + kHeaderBytes;
    bool sound = true;
    if (opened.mode == Mode::kRaw)
      copy(MemorySource<Cut::kBytes>(values), form.count, sink);
    else if (opened.mode == Mode::kZero)
      copy(ZeroSource<Cut::kBytes>(), form.count, sink);
    else
      sound =
          decode_tiles(values, opened.payload_bytes, form.count, opened.mode == Mode::kFast, sink);
    return team_sum(team_, shared_.reduced, !sound) == 0 ? Fault::kNone : Fault::kTile;
  }

 private:
  static constexpr auto kCount = static_cast<uint32_t>(kBlockValues);
  // So many bytes of a chunk are on their way from memory before they are read: one warp alone
  // never waits for a second tile, and all teams of a GPU together leave most of its cache alone.
  static constexpr uint32_t kBytesAhead = 32 << 10;

  __device__ __forceinline__ void fetch_ahead(const std::byte* at, uint32_t bytes) const {
    constexpr auto kUnit = static_cast<uint32_t>(kAlign);
    if (team_.thread() == 0 && bytes >= kUnit) device::fetch_range_ahead(at, bytes / kUnit * kUnit);
  }

  template <class Source, class Sink>
  __device__ void copy(const Source& source, uint32_t count, const Sink& sink) const {
    const uint32_t step = Team::kWarps * static_cast<uint32_t>(kBlockValues);
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
    }
  }

  // This warp's part; whether it was sound.
  template <class Sink>
  __device__ bool decode_tiles(const std::byte* payload, uint32_t payload_bytes, uint32_t count,
                               bool spread_blocks, const Sink& sink) const {
    uint32_t used = table_bytes(count);
    if (used > payload_bytes) return false;
    const auto tiles = static_cast<uint32_t>(tiles_of(count));
    bool sound = true;
    for (uint32_t tile = 0; tile < tiles; ++tile) {
      const uint32_t bytes =
          static_cast<uint32_t>(kAlign) * reinterpret_cast<const uint16_t*>(payload)[tile];
      if (bytes > payload_bytes - used) return false;
      const uint32_t ahead = min(used + kBytesAhead, payload_bytes);
      fetch_ahead(payload + ahead, min(bytes, payload_bytes - ahead));
      const bool mine = tile % Team::kWarps == team_.warp;
      if (mine || spread_blocks) {
        const auto first = tile * static_cast<uint32_t>(kTileValues);
        const uint32_t n = min(count - first, static_cast<uint32_t>(kTileValues));
        sound = decode_tile(payload + used, bytes, first, n, mine, spread_blocks, sink) && sound;
      }
      used += bytes;
    }
    return sound && used == payload_bytes;
  }

  template <class Sink>
  __device__ bool decode_tile(const std::byte* tile, uint32_t bytes, uint32_t first, uint32_t n,
                              bool mine, bool spread_blocks, const Sink& sink) const {
    TileReader<Cut> reader(tables_, SharedPlace(&shared_.lanes[team_.warp][device::lane_id()]));
    if (!reader.open(tile, bytes, n)) return false;
    const bool alone = !spread_blocks || reader.has_streams();
    if (alone && !mine) return true;
    const uint32_t step = kept(alone ? 1 : Team::kWarps), full = kept(reader.full_blocks());
    uint32_t faults = 0, block = alone ? 0 : team_.warp;
    Block<Cut::kBytes> values;
    for (; block < full; block += step) {
      faults |= reader.template read<true>(block, values);
      sink.template write<true>(first + block * kCount, kCount, values);
    }
    if (block < reader.blocks()) {
      faults |= reader.template read<false>(block, values);
      sink.template write<false>(first + block * kCount, reader.values_of(block), values);
    }
    return faults == 0 && (!alone || reader.ends_well());
  }

  const DecodeTables& tables_;
  const Team team_;
  Shared& shared_;
};

}  // namespace strait::codec::gpu
