// The values of a chunk as an encoder's source, so that decoding, adding and encoding again take
// one pass: the blocks go from a tile's bytes through registers into another tile. One warp reads
// any chunk; a team of several warps reads chunks without streams (the fast mode makes no others),
// since streams must be read in order by one warp. Device code; every lane of a warp calls
// together.
#pragma once

#include "codec/chunk_open.cuh"
#include "codec/tile_read.cuh"
#include "codec/values.cuh"

namespace strait::codec::gpu {

template <class Cut>
class ChunkSource {
 public:
  // `opened` without a fault, by open_chunk(); `lanes` are sixteen bytes of shared memory for each
  // lane of this warp.
  __device__ ChunkSource(const DecodeTables& tables, uint4* lanes, const std::byte* chunk,
                         const OpenedChunk& opened, uint32_t count)
      : reader_(tables, SharedPlace(lanes + device::lane_id())),
        payload_(chunk + kHeaderBytes),
        opened_(opened),
        count_(count) {}

  // Blocks in order, from any block on that starts a tile.
  template <bool kFull>
  __device__ __forceinline__ void read(uint32_t first, uint32_t n, Block<Cut::kBytes>& block) {
    if (opened_.mode == Mode::kRaw)
      return MemorySource<Cut::kBytes>(payload_).template read<kFull>(first, n, block);
    block = {};
    if (opened_.mode == Mode::kZero) return;
    constexpr auto kTile = static_cast<uint32_t>(kTileValues);
    const uint32_t at = first % kTile / static_cast<uint32_t>(kBlockValues);
    const bool again = reader_.has_streams() && at == 0 && next_block_ != 0;
    if (first / kTile != tile_ || again) open_tile(first / kTile);
    if (!open_) return;
    const bool in_order = !reader_.has_streams() || at == next_block_;
    next_block_ = at + 1;
    sound_ = in_order && reader_.template read<kFull>(at, block) == 0 && sound_;
    if (reader_.has_streams() && next_block_ == reader_.blocks())
      sound_ = reader_.ends_well() && sound_;
  }

  // Whether what was read was sound, as far as this warp saw; when all is read. What was made of it
  // is worth nothing otherwise.
  __device__ bool sound() const { return sound_; }

 private:
  __device__ void open_tile(uint32_t tile) {
    const uint32_t table = table_bytes(count_);
    if (tile_ == kNone || tile < tile_) {
      tile_ = 0;
      used_ = table;
    }
    open_ = table <= opened_.payload_bytes;
    const auto* const lengths = reinterpret_cast<const uint16_t*>(payload_);
    for (; open_ && tile_ < tile; ++tile_) {
      used_ += static_cast<uint32_t>(kAlign) * lengths[tile_];
      open_ = used_ <= opened_.payload_bytes;
    }
    const uint32_t bytes = open_ ? static_cast<uint32_t>(kAlign) * lengths[tile] : 0;
    const uint32_t n =
        min(count_ - tile * static_cast<uint32_t>(kTileValues), static_cast<uint32_t>(kTileValues));
    open_ =
        open_ && bytes <= opened_.payload_bytes - used_ && reader_.open(payload_ + used_, bytes, n);
    if (tile + 1 == tiles_of(count_)) open_ = open_ && used_ + bytes == opened_.payload_bytes;
    sound_ = sound_ && open_;
    tile_ = tile;
    next_block_ = 0;
  }

  static constexpr uint32_t kNone = ~0u;
  TileReader<Cut> reader_;
  const std::byte* payload_;
  OpenedChunk opened_;
  uint32_t count_;
  uint32_t tile_ = kNone;
  uint32_t used_ = 0;  // bytes before the tile
  uint32_t next_block_ = 0;
  bool open_ = false;
  bool sound_ = true;
};

}  // namespace strait::codec::gpu
