// Reads a tile with one warp, block after block or every W-th block: all that blocks need to know
// of each other follows from the records, of which each lane has one. Only blocks in the streams
// must be read in order, all by the same warp. Every size is checked when the tile is opened, so
// that reading stays within it. Device code; every lane of the warp calls together; 150
// instructions to open.
#pragma once

#include "codec/block_read.cuh"
#include "codec/usual_read.cuh"

namespace strait::codec::gpu {

template <class Cut>
class TileReader {
 public:
  __device__ explicit TileReader(const DecodeTables& tables) : tables_(tables) {}

  // Returns whether the tile is sound. It starts at a multiple of 16, as all tiles do.
  __device__ bool open(const std::byte* tile, uint32_t bytes, uint32_t n) {
    tile_ = tile;
    bytes_ = bytes;
    n_ = n;
    blocks_ = static_cast<uint32_t>(blocks_of(n));
    full_blocks_ = n / static_cast<uint32_t>(kBlockValues);
    exponent_end_ = low_end_ = 0;
    const auto records = static_cast<uint32_t>(
        round_up(Cut::shape().record_bytes() * static_cast<size_t>(blocks_), kAlign));
    if (records > bytes) return false;
    const uint32_t lane = device::lane_id();
    uint32_t planes = 0;
    bool sound = true;
    list_bytes_ = 0;
    record_ = {};
    if (lane < blocks_) {
      load_record(lane);
      const uint32_t count = values_of(lane);
      sound = check_record(Cut::shape(), record_, count) == nullptr;
      planes = static_cast<uint32_t>(plane_bytes_of(Cut::shape(), record_, count));
      list_bytes_ = static_cast<uint32_t>(list_bytes_of(Cut::shape(), record_));
    }
    if (!__all_sync(kAllLanes, sound)) return false;
    const uint32_t planes_up_to = running_sum(planes), lists_up_to = running_sum(list_bytes_);
    const uint32_t lists = records + from_lane(planes_up_to, kWarpLanes - 1);
    planes_at_ = records + planes_up_to - planes;
    list_at_ = lists + lists_up_to - list_bytes_;
    const uint32_t used = lists + from_lane(lists_up_to, kWarpLanes - 1);
    if (used > bytes) return false;
    has_exponents_ = __any_sync(kAllLanes, record_.method() >= kMethodTable);
    has_low_ = __any_sync(kAllLanes, record_.has_low_table(Cut::shape()));
    return open_all_streams(used);
  }

  __device__ uint32_t blocks() const { return blocks_; }
  __device__ bool is_full(uint32_t block) const { return block < full_blocks_; }
  __device__ bool has_streams() const { return has_exponents_ || has_low_; }
  __device__ uint32_t values_of(uint32_t block) const {
    const auto first = block * static_cast<uint32_t>(kBlockValues);
    return min(n_ - first, static_cast<uint32_t>(kBlockValues));
  }

  // The values of a block as they stand in memory, kFull when there are 512. Returns 0 where the
  // block is sound, the same in all lanes.
  template <bool kFull>
  __device__ __forceinline__ uint32_t read(uint32_t block, Block<Cut::kBytes>& values) {
    const uint32_t packed = record_.top | uint32_t{record_.kind} << 16 |
                            uint32_t{record_.list} << 24 |
                            (kLowInTop ? uint32_t{record_.low} << 8 : 0);
    const uint32_t mine = from_lane(packed, block);
    const uint32_t kind = mine >> 16 & 255, list_bytes = mine >> 24;
    const std::byte* const planes = tile_ + from_lane(planes_at_, block);
    const std::byte* const list = tile_ + from_lane(list_at_, block);
    const uint32_t low = kLowInTop ? mine >> 8 & 255 : 0;
    ExponentRows symbols = {};
    if constexpr (kFull) {
      const uint32_t method = kind & 63;
      if (method >= kMethodTable) read_row_symbols(method - kMethodTable, symbols);
      if constexpr (kHasUsual<Cut>) {
        using Usual = UsualReader<Cut>;
        const PlaneSelectors& selectors = tables_.selectors[device::lane_id()];
        if (Usual::takes_window(kind, low))
          return Usual::read_window(selectors, method - kMethodWindow, mine & 255, planes, list,
                                    list_bytes, values);
        if (method >= kMethodTable && Usual::takes_table(kind, low, list_bytes) &&
            are_near(symbols)) {
          Usual::read_symbols(selectors, symbols.low, mine & 255, planes, values);
          return 0;
        }
      }
    }
    PartPlaces parts = {{}, planes, list, from_lane(list_bytes_, block)};
    parts.record.top = static_cast<uint16_t>(kLowInTop ? mine & 255 : mine);
    parts.record.kind = static_cast<uint8_t>(kind);
    parts.record.list = static_cast<uint8_t>(list_bytes);
    if constexpr (Cut::shape().low_bytes() != 0)
      parts.record.low = static_cast<uint16_t>(from_lane(record_.low, block));
    bool sound;
    if constexpr (kFull)
      sound = read_block<true, Cut>(tables_, parts, kBlockValues, symbols, low_, values);
    else
      sound = read_rest(tables_, parts, values_of(block), values);
#pragma unroll
    for (int r = 0; r < kBlockRowsInt; ++r) from_columns<Cut::kBytes>(values.word[r]);
    return sound ? 0 : 1;
  }

  // When all blocks are read: whether every lane has stopped in the last byte of its streams.
  __device__ bool ends_well() const {
    bool well = true;
    if (has_exponents_) well = round_up(exponents_.position(), 8) == exponent_end_;
    if (has_low_) well = well && round_up(low_.position(), 8) == low_end_;
    return __all_sync(kAllLanes, well);
  }

 private:
  // The block that is not full, which is in no streams: once in a chunk, and so not in line.
  static __device__ __attribute__((noinline)) bool read_rest(const DecodeTables& tables,
                                                             PartPlaces parts, uint32_t n,
                                                             Block<Cut::kBytes>& columns) {
    LaneReader none;
    return read_block<false, Cut>(tables, parts, n, {}, none, columns);
  }

  __device__ __forceinline__ void read_row_symbols(uint32_t table, ExponentRows& symbols) {
#pragma unroll
    for (int r = 0; r < kBlockRowsInt; ++r)
      symbols.low[r] = read_symbols(tables_.symbol[table], exponents_);
  }
  // Whether no symbol of the warp stands for an exponent that is zero or in the list.
  static __device__ __forceinline__ bool are_near(const ExponentRows& symbols) {
    uint32_t far = 0;
#pragma unroll
    for (int r = 0; r < kBlockRowsInt; ++r) far |= symbols.low[r] + each_byte(16 - kSymbolZero);
    return !__any_sync(kAllLanes, (far & each_byte(16)) != 0);
  }

  __device__ uint32_t byte_at(uint32_t at) const {
    return static_cast<uint32_t>(tile_[at]);
  }

  __device__ void load_record(uint32_t block) {
    constexpr uint32_t kTop = Cut::shape().top_bytes(), kLow = Cut::shape().low_bytes();
    const auto field = [&](uint32_t at, uint32_t size) {
      return size == 1 ? byte_at(at) : byte_at(at) | byte_at(at + 1) << 8;
    };
    record_.top = static_cast<uint16_t>(field(kTop * block, kTop));
    record_.kind = static_cast<uint8_t>(byte_at(kTop * blocks_ + block));
    record_.list = static_cast<uint8_t>(byte_at((kTop + 1) * blocks_ + block));
    if constexpr (kLow != 0)
      record_.low = static_cast<uint16_t>(field((kTop + 2) * blocks_ + kLow * block, kLow));
  }

  __device__ bool open_all_streams(uint32_t at) {
    if (has_exponents_ &&
        !open_streams(at, kTileValues * kMostCodeBits / 8, exponents_, exponent_end_))
      return false;
    if (has_low_ && !open_streams(at, ~0u, low_, low_end_)) return false;
    return bytes_ - at < kAlign;
  }

  // Lengths and streams at `at`, which moves on; `end` is this lane's, in bits of the tile.
  __device__ bool open_streams(uint32_t& at, uint32_t most_bytes, LaneReader& reader,
                               uint32_t& end) {
    const uint32_t left = bytes_ - at, lane = device::lane_id();
    if (left < 3) return false;
    const uint32_t width = byte_at(at + 2), header = 3 + 4 * width;
    if (width > 8 || left < header) return false;
    uint32_t length = byte_at(at) | byte_at(at + 1) << 8;
    for (uint32_t p = 0; p < width; ++p)
      length += (byte_at(at + 3 + 4 * p + lane / 8) >> (lane % 8) & 1) << p;
    const uint32_t up_to = running_sum(length), all = from_lane(up_to, kWarpLanes - 1);
    if (all == 0 || all > left - header || all > most_bytes) return false;
    const uint32_t start = at + header;
    reader.open(tile_, bytes_ / 4, 8 * (start + up_to - length));
    end = 8 * (start + up_to);
    at = start + all;
    return true;
  }

  // One byte each.
  static constexpr bool kLowInTop = Cut::kBytes == 4;

  const DecodeTables& tables_;
  const std::byte* tile_ = nullptr;
  uint32_t bytes_ = 0;
  uint32_t n_ = 0;
  uint32_t blocks_ = 0;
  uint32_t full_blocks_ = 0;
  bool has_exponents_ = false;
  bool has_low_ = false;
  // This lane's block.
  BlockRecord record_;
  uint32_t planes_at_ = 0;  // from the tile's start
  uint32_t list_at_ = 0;
  uint32_t list_bytes_ = 0;
  // This lane's streams.
  LaneReader exponents_, low_;
  uint32_t exponent_end_ = 0;
  uint32_t low_end_ = 0;
};

}  // namespace strait::codec::gpu
