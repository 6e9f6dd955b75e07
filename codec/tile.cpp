#include "codec/tile.hpp"

#include <algorithm>
#include <cstring>

#include "codec/bytes.hpp"

namespace strait::codec {
namespace {

size_t values_of_block(size_t block, size_t n) {
  return std::min(kBlockValues, n - block * kBlockValues);
}

// The records are stored field by field: all tops, all kinds, all lists, all lows.
void store_record(const Shape& shape, const BlockRecord& record, size_t block, size_t blocks,
                  uint8_t* tile) {
  if (shape.top_bytes() == 2)
    store<uint16_t>(tile + 2 * block, record.top);
  else
    tile[block] = static_cast<uint8_t>(record.top);
  tile += shape.top_bytes() * blocks;
  tile[block] = record.kind;
  tile[blocks + block] = record.list;
  tile += 2 * blocks;
  if (shape.low_bytes() == 1) tile[block] = static_cast<uint8_t>(record.low);
  if (shape.low_bytes() == 2) store<uint16_t>(tile + 2 * block, record.low);
}

void load_record(const Shape& shape, size_t block, size_t blocks, const uint8_t* tile,
                 BlockRecord& record) {
  record.top = shape.top_bytes() == 2 ? load<uint16_t>(tile + 2 * block) : tile[block];
  tile += shape.top_bytes() * blocks;
  record.kind = tile[block];
  record.list = tile[blocks + block];
  tile += 2 * blocks;
  record.low = 0;
  if (shape.low_bytes() == 1) record.low = tile[block];
  if (shape.low_bytes() == 2) record.low = load<uint16_t>(tile + 2 * block);
}

struct TileScratch {
  BlockParts parts;
  StreamParts streams;
  uint8_t lists[kTileBlocks * kMaxListBytes + kMaxListBytes + kListSlack];
};

// Appends what the blocks put into streams; returns the new end, or 0 when the room does not
// suffice.
size_t append_streams(const Kernels& kernels, const StreamParts& streams, uint8_t* tile,
                      size_t used, size_t room) {
  if (streams.exponents.used != 0) {
    const size_t bytes =
        write_streams(kernels.append_lanes, streams.exponents, tile + used, room - used);
    if (bytes == 0) return 0;
    used += bytes;
  }
  if (streams.low.blocks != 0) {
    const size_t bytes = write_low_streams(streams.low, tile + used, room - used);
    if (bytes == 0) return 0;
    used += bytes;
  }
  return used;
}

}  // namespace

size_t encode_tile(const Shape& shape, const Kernels& kernels, Mode mode, const void* values,
                   size_t n, std::byte* out, size_t room) {
  const auto* in = static_cast<const std::byte*>(values);
  auto* const tile = reinterpret_cast<uint8_t*>(out);
  const size_t blocks = blocks_of(n);
  size_t used = round_up(shape.record_bytes() * blocks, kAlign);
  if (used > room) return 0;
  std::memset(tile, 0, used);
  TileScratch scratch;
  scratch.streams.exponents.used = 0;
  scratch.streams.low.blocks = 0;
  StreamParts* const streams = mode == Mode::kDense ? &scratch.streams : nullptr;
  size_t list_used = 0;
  BlockChoice choice;
  for (size_t block = 0; block < blocks; ++block) {
    const size_t count = values_of_block(block, n);
    const Kernels& fit = count == kBlockValues ? kernels : portable_kernels();
    uint8_t* const list = scratch.lists + list_used;
    choose_block(shape, fit, in, count, scratch.parts, streams, {tile + used, room - used}, list,
                 choice);
    if (used + choice.plane_bytes + list_used + choice.list_bytes > room) return 0;
    write_block(shape, fit, in, count, scratch.parts, choice, tile + used, list);
    store_record(shape, choice.record, block, blocks, tile);
    used += choice.plane_bytes;
    list_used += choice.list_bytes;
    in += count * shape.value_bytes;
  }
  if (used + list_used > room) return 0;
  std::memcpy(tile + used, scratch.lists, list_used);
  used = append_streams(kernels, scratch.streams, tile, used + list_used, room);
  const size_t total = round_up(used, kAlign);
  if (used == 0 || total > room) return 0;
  std::memset(tile + used, 0, total - used);
  return total;
}

size_t TileReader::next_values() const {
  return block_ < blocks_of(values_) ? values_of_block(block_, values_) : 0;
}

const char* TileReader::open(const Shape& shape, const Kernels& kernels,
                             std::span<const std::byte> tile, size_t n) {
  shape_ = shape;
  kernels_ = &kernels;
  const auto* bytes = reinterpret_cast<const uint8_t*>(tile.data());
  values_ = n;
  block_ = 0;
  const size_t blocks = blocks_of(n);
  size_t used = round_up(shape.record_bytes() * blocks, kAlign);
  if (used > tile.size()) return "a tile is shorter than its records";
  planes_ = bytes + used;
  size_t list_bytes = 0;
  bool exponents = false, low = false;
  for (size_t block = 0; block < blocks; ++block) {
    BlockRecord& record = records_[block];
    load_record(shape, block, blocks, bytes, record);
    const size_t count = values_of_block(block, n);
    if (const char* wrong = check_record(shape, record, count)) return wrong;
    plane_bytes_[block] = static_cast<uint32_t>(plane_bytes_of(shape, record, count));
    used += plane_bytes_[block];
    list_bytes += list_bytes_of(shape, record);
    exponents = exponents || record.method() >= kMethodTable;
    low = low || record.has_low_table(shape);
  }
  list_ = bytes + used;
  used += list_bytes;
  if (used > tile.size()) return "a tile is shorter than its blocks";
  return open_all_streams({bytes + used, tile.size() - used}, exponents, low);
}

const char* TileReader::open_all_streams(std::span<const uint8_t> in, bool exponents, bool low) {
  streams_.exponent_position = exponent_end_ = streams_.low_position = low_end_ = {};
  if (exponents) {
    const auto stream = open_streams(in, streams_.exponent_position, exponent_end_);
    if (stream.empty() || stream.size() > kLanes * kMostLaneBytes)
      return "a tile's streams are longer than it";
    // Copied, so that lanes that run on beyond a damaged stream stay in memory that is ours.
    std::memcpy(stream_copy_, stream.data(), stream.size());
    std::memset(stream_copy_ + stream.size(), 0, kMostLaneBytes + kStreamSlack);
    streams_.exponents = stream_copy_;
  }
  if (low) {
    streams_.low = open_streams(in, streams_.low_position, low_end_);
    if (streams_.low.empty()) return "a tile's low streams are longer than it";
  }
  return in.size() < kAlign ? nullptr : "a tile is longer than its blocks";
}

const char* TileReader::read(BlockParts& parts, void* values) {
  const size_t count = next_values();
  const BlockRecord& record = records_[block_];
  const size_t plane_bytes = plane_bytes_[block_++];
  const size_t list_bytes = list_bytes_of(shape_, record);
  const Kernels& fit = count == kBlockValues ? *kernels_ : portable_kernels();
  const char* wrong = read_block(shape_, fit, record, {planes_, plane_bytes}, {list_, list_bytes},
                                 count, streams_, parts, values);
  planes_ += plane_bytes;
  list_ += list_bytes;
  if (wrong != nullptr || next_values() != 0) return wrong;
  if (at_end(streams_.exponent_position, exponent_end_) && at_end(streams_.low_position, low_end_))
    return nullptr;
  return "a tile's streams do not end where they should";
}

}  // namespace strait::codec
