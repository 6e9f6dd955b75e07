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
  // `room` is shared memory for sixteen bytes of this lane's.
  __device__ __forceinline__ TileReader(const DecodeTables& tables, SharedPlace room)
      : tables_(tables), mine_(tables.selectors[device::lane_id()]), room_(room) {}

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
    BlockRecord record = {};
    if (lane < blocks_) {
      record = load_record(lane);
      const uint32_t count = values_of(lane);
      sound = check_record(Cut::shape(), record, count) == nullptr;
      planes = static_cast<uint32_t>(plane_bytes_of(Cut::shape(), record, count));
      list_bytes_ = static_cast<uint32_t>(list_bytes_of(Cut::shape(), record));
    }
    record_ = packed(record);
    if constexpr (kLowInTop) record_.first |= record_.low << 8;
    if (!__all_sync(kAllLanes, sound)) return false;
    const uint32_t planes_up_to = running_sum(planes), lists_up_to = running_sum(list_bytes_);
    const uint32_t lists = records + from_lane(planes_up_to, kWarpLanes - 1);
    planes_at_ = records + planes_up_to - planes;
    list_at_ = lists + lists_up_to - list_bytes_;
    const uint32_t used = lists + from_lane(lists_up_to, kWarpLanes - 1);
    if (used > bytes) return false;
    has_exponents_ = __any_sync(kAllLanes, record.method() >= kMethodTable);
    has_low_ = __any_sync(kAllLanes, record.has_low_table(Cut::shape()));
    return open_all_streams(used);
  }

  __device__ uint32_t blocks() const { return blocks_; }
  __device__ uint32_t full_blocks() const { return full_blocks_; }
  __device__ bool has_streams() const { return has_exponents_ || has_low_; }
  __device__ uint32_t values_of(uint32_t block) const {
    const auto first = block * static_cast<uint32_t>(kBlockValues);
    return min(n_ - first, static_cast<uint32_t>(kBlockValues));
  }

  // The values of a block as they stand in memory, kFull when there are 512. Returns 0 where the
  // block is sound, the same in all lanes.
  template <bool kFull>
  __device__ __forceinline__ uint32_t read(uint32_t block, Block<Cut::kBytes>& values) {
    const uint32_t first = from_lane(record_.first, block);
    const uint32_t kind = first >> 16 & 255, method = kind & 63, list_bytes = first >> 24;
    const std::byte* const planes = tile_ + from_lane(planes_at_, block);
    const std::byte* const list = tile_ + from_lane(list_at_, block);
    uint32_t symbols[kBlockRows] = {};
    if constexpr (kFull) {
      if constexpr (kHasUsual<Cut>) {
        const uint32_t low = kLowInTop ? first >> 8 & 255 : 0;
        if (UsualReader<Cut>::takes_window(kind, low))
          return UsualReader<Cut>::read_window(mine_, room_, method - kMethodWindow, first & 255,
                                               planes, list, list_bytes, values);
        if (method >= kMethodTable) {
          read_row_symbols(method - kMethodTable, symbols);
          if (UsualReader<Cut>::takes_table(kind, low, list_bytes) && are_near(symbols)) {
            UsualReader<Cut>::read_symbols(mine_, symbols, first & 255, planes, values);
            return 0;
          }
        }
      } else if (method >= kMethodTable) {
        read_row_symbols(method - kMethodTable, symbols);
      }
    }
    const PartPlaces parts = {record_of(block, first), planes, list, from_lane(list_bytes_, block)};
    const bool sound =
        read_apart<kFull>(parts, kFull ? kBlockValues : values_of(block), symbols, values);
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
  // Few blocks, so that this is not in line and takes no registers elsewhere; copies have addresses
  // and leave what is theirs in registers.
  template <bool kFull>
  __device__ __forceinline__ bool read_apart(const PartPlaces& parts, uint32_t n,
                                             const uint32_t (&symbols)[kBlockRows],
                                             Block<Cut::kBytes>& values) {
    Block<Cut::kBytes> copy;
    ExponentRows rows = {};
    LaneReader low = {};
#pragma unroll
    for (int r = 0; r < kBlockRowsInt; ++r) rows.low[r] = symbols[r];
    if constexpr (kFull && Cut::kBytes == 4) low = low_;
    const bool sound = read_block_apart<kFull>(tables_, parts, n, rows, low, copy);
    if constexpr (kFull && Cut::kBytes == 4) low_ = low;
    values = copy;
    return sound;
  }
  template <bool kFull>
  static __device__ __attribute__((noinline)) bool read_block_apart(
      const DecodeTables& tables, const PartPlaces& parts, uint32_t n, const ExponentRows& symbols,
      LaneReader& low, Block<Cut::kBytes>& values) {
    const bool sound = read_block<kFull, Cut>(tables, parts, n, symbols, low, values);
#pragma unroll
    for (int r = 0; r < kBlockRowsInt; ++r) from_columns<Cut::kBytes>(values.word[r]);
    return sound;
  }

  __device__ __forceinline__ BlockRecord record_of(uint32_t block, uint32_t first) const {
    const uint32_t low = kLowInTop                       ? first >> 8 & 255
                         : Cut::shape().low_bytes() != 0 ? from_lane(record_.low, block)
                                                         : 0;
    return {static_cast<uint16_t>(kLowInTop ? first & 255 : first),
            static_cast<uint8_t>(first >> 16), static_cast<uint8_t>(first >> 24),
            static_cast<uint16_t>(low)};
  }

  __device__ __forceinline__ void read_row_symbols(uint32_t table,
                                                   uint32_t (&symbols)[kBlockRows]) {
#pragma unroll
    for (int r = 0; r < kBlockRowsInt; ++r)
      symbols[r] = read_symbols(tables_.symbol[table], exponents_);
  }
  // Whether no symbol of the warp stands for an exponent that is zero or in the list.
  static __device__ __forceinline__ bool are_near(const uint32_t (&symbols)[kBlockRows]) {
    uint32_t far = 0;
#pragma unroll
    for (int r = 0; r < kBlockRowsInt; ++r) far |= symbols[r] + each_byte(16 - kSymbolZero);
    return !__any_sync(kAllLanes, (far & each_byte(16)) != 0);
  }

  __device__ uint32_t byte_at(uint32_t at) const {
    return static_cast<uint32_t>(tile_[at]);
  }

  __device__ BlockRecord load_record(uint32_t block) const {
    constexpr uint32_t kTop = Cut::shape().top_bytes(), kLow = Cut::shape().low_bytes();
    const auto field = [&](uint32_t at, uint32_t size) {
      return size == 1 ? byte_at(at) : byte_at(at) | byte_at(at + 1) << 8;
    };
    BlockRecord record = {};
    record.top = static_cast<uint16_t>(field(kTop * block, kTop));
    record.kind = static_cast<uint8_t>(byte_at(kTop * blocks_ + block));
    record.list = static_cast<uint8_t>(byte_at((kTop + 1) * blocks_ + block));
    if constexpr (kLow != 0)
      record.low = static_cast<uint16_t>(field((kTop + 2) * blocks_ + kLow * block, kLow));
    return record;
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
  const PlaneLane mine_;
  const SharedPlace room_;
  const std::byte* tile_ = nullptr;
  uint32_t bytes_ = 0;
  uint32_t n_ = 0;
  uint32_t blocks_ = 0;
  uint32_t full_blocks_ = 0;
  bool has_exponents_ = false;
  bool has_low_ = false;
  // This lane's block.
  PackedRecord record_ = {};
  uint32_t planes_at_ = 0;  // from the tile's start
  uint32_t list_at_ = 0;
  uint32_t list_bytes_ = 0;
  // This lane's streams.
  LaneReader exponents_, low_;
  uint32_t exponent_end_ = 0;
  uint32_t low_end_ = 0;
};

}  // namespace strait::codec::gpu
