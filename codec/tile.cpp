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

BlockRecord load_record(const Shape& shape, size_t block, size_t blocks, const uint8_t* tile) {
  BlockRecord record;
  record.top = shape.top_bytes() == 2 ? load<uint16_t>(tile + 2 * block) : tile[block];
  tile += shape.top_bytes() * blocks;
  record.kind = tile[block];
  record.list = tile[blocks + block];
  tile += 2 * blocks;
  if (shape.low_bytes() == 1) record.low = tile[block];
  if (shape.low_bytes() == 2) record.low = load<uint16_t>(tile + 2 * block);
  return record;
}

}  // namespace

size_t encode_tile(const Shape& shape, const Kernels& kernels, const void* values, size_t n,
                   std::byte* out, size_t room) {
  const auto* in = static_cast<const std::byte*>(values);
  auto* const tile = reinterpret_cast<uint8_t*>(out);
  const size_t blocks = blocks_of(n);
  size_t used = round_up(shape.record_bytes() * blocks, kAlign);
  if (used > room) return 0;
  std::memset(tile, 0, used);
  BlockParts parts;
  uint8_t lists[kTileBlocks * kMaxListBytes + kListSlack];
  size_t list_used = 0;
  for (size_t block = 0; block < blocks; ++block) {
    const size_t count = values_of_block(block, n);
    const Kernels& fit = count == kBlockValues ? kernels : portable_kernels();
    const BlockChoice choice = choose_block(shape, fit, in, count, parts);
    if (used + choice.plane_bytes + list_used + choice.list_bytes > room) return 0;
    write_block(shape, fit, in, count, parts, choice, tile + used, lists + list_used);
    store_record(shape, choice.record, block, blocks, tile);
    used += choice.plane_bytes;
    list_used += choice.list_bytes;
    in += count * shape.value_bytes;
  }
  const size_t total = round_up(used + list_used, kAlign);
  if (total > room) return 0;
  std::memcpy(tile + used, lists, list_used);
  std::memset(tile + used + list_used, 0, total - used - list_used);
  return total;
}

BlockRecord TileReader::record_at(size_t block) const {
  return load_record(shape_, block, blocks_of(values_), tile_);
}

size_t TileReader::next_values() const {
  return block_ < blocks_of(values_) ? values_of_block(block_, values_) : 0;
}

const char* TileReader::open(const Shape& shape, const Kernels& kernels,
                             std::span<const std::byte> tile, size_t n) {
  shape_ = shape;
  kernels_ = &kernels;
  tile_ = reinterpret_cast<const uint8_t*>(tile.data());
  values_ = n;
  block_ = 0;
  const size_t blocks = blocks_of(n);
  size_t used = round_up(shape.record_bytes() * blocks, kAlign);
  if (used > tile.size()) return "a tile is shorter than its records";
  planes_ = tile_ + used;
  size_t list_bytes = 0;
  for (size_t block = 0; block < blocks; ++block) {
    const BlockRecord record = record_at(block);
    if (const char* wrong = check_record(shape, record)) return wrong;
    used += plane_bytes_of(shape, record, values_of_block(block, n));
    list_bytes += list_bytes_of(shape, record);
  }
  if (round_up(used + list_bytes, kAlign) != tile.size())
    return "a tile's length is not that of its blocks";
  list_ = tile_ + used;
  return nullptr;
}

const char* TileReader::read(BlockParts& parts, void* values) {
  const size_t count = next_values();
  const BlockRecord record = record_at(block_++);
  const Kernels& fit = count == kBlockValues ? *kernels_ : portable_kernels();
  const char* wrong = read_block(shape_, fit, record, planes_, list_, count, parts, values);
  planes_ += plane_bytes_of(shape_, record, count);
  list_ += list_bytes_of(shape_, record);
  return wrong;
}

}  // namespace strait::codec
