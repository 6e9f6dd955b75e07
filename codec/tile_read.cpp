#include "codec/tile.hpp"

#include <algorithm>
#include <cstring>

#include "codec/bytes.hpp"
#include "codec/user_tables.hpp"

namespace strait::codec {
namespace {

size_t values_of_block(size_t block, size_t n) {
  return std::min(kBlockValues, n - block * kBlockValues);
}

// The reverse of how tile_write.cpp stores records.
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

// As check_record, which knows only the tables that are built in.
const char* check_any_record(const Shape& shape, BlockRecord record, size_t n) {
  if (record.method() >= kFirstUserTable) {
    if (exponent_table(record.method() - kMethodTable) == nullptr) return kTableMissing;
    record.kind = static_cast<uint8_t>((record.kind & ~63) | kMethodTable);
  }
  return check_record(shape, record, n);
}

}  // namespace

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
  tables_ = 0;
  const size_t blocks = blocks_of(n);
  size_t used = round_up(shape.record_bytes() * blocks, kAlign);
  if (used > tile.size()) return "a tile is shorter than its records";
  planes_ = bytes + used;
  size_t list_bytes = 0;
  bool low = false;
  for (size_t block = 0; block < blocks; ++block) {
    BlockRecord& record = records_[block];
    load_record(shape, block, blocks, bytes, record);
    const size_t count = values_of_block(block, n);
    const size_t usual = count == kBlockValues && has_usual_blocks(shape) ? usual_width(record) : 0;
    if (usual != 0) {
      plane_bytes_[block] = static_cast<uint32_t>(kBlockValues + usual * bit_bytes(kBlockValues));
      list_bytes += record.list;
    } else {
      if (const char* wrong = check_any_record(shape, record, count)) return wrong;
      plane_bytes_[block] = static_cast<uint32_t>(plane_bytes_of(shape, record, count));
      list_bytes += list_bytes_of(shape, record);
      if (record.method() >= kMethodTable) table_[tables_++] = record.method() - kMethodTable;
      low = low || record.has_low_table(shape);
    }
    used += plane_bytes_[block];
  }
  list_ = bytes + used;
  used += list_bytes;
  if (used > tile.size()) return "a tile is shorter than its blocks";
  copy_lists(list_bytes);
  return open_all_streams({bytes + used, tile.size() - used}, tables_ != 0, low);
}

// Where usual blocks may read a little beyond a list.
void TileReader::copy_lists(size_t bytes) {
  usual_ = kernels_->decode_usual != nullptr && has_usual_blocks(shape_) &&
           bytes <= sizeof list_copy_ - kBlockValues;
  if (!usual_) return;
  std::memcpy(list_copy_, list_, bytes);
  std::memset(list_copy_ + bytes, 0, kBlockValues);
  list_ = list_copy_;
}

const char* TileReader::open_all_streams(std::span<const uint8_t> in, bool exponents, bool low) {
  exponent_position_ = exponent_end_ = streams_.low_position = low_end_ = {};
  if (exponents) {
    const auto stream = open_streams(in, exponent_position_, exponent_end_);
    if (stream.empty() || stream.size() > kLanes * kMostLaneBytes)
      return "a tile's streams are longer than it";
    // Copied, so that lanes that run on beyond a damaged stream stay in memory that is ours.
    std::memcpy(stream_copy_, stream.data(), stream.size());
    std::memset(stream_copy_ + stream.size(), 0, kMostLaneBytes + kStreamSlack);
    streams_.symbols = symbols_;
  }
  if (low) {
    streams_.low = open_streams(in, streams_.low_position, low_end_);
    if (streams_.low.empty()) return "a tile's low streams are longer than it";
  }
  return in.size() < kAlign ? nullptr : "a tile is longer than its blocks";
}

void TileReader::read_symbols(TileReader* readers, size_t count) {
  size_t block = 0;
  if (count == 2)
    for (; block < std::min(readers[0].tables_, readers[1].tables_); ++block) {
      const SymbolRead both[] = {readers[0].symbols_of(block), readers[1].symbols_of(block)};
      readers->kernels_->read_symbols(both, 2);
    }
  for (TileReader* reader = readers; reader < readers + count; ++reader)
    for (size_t rest = block; rest < reader->tables_; ++rest) {
      const SymbolRead one = reader->symbols_of(rest);
      reader->kernels_->read_symbols(&one, 1);
    }
}

SymbolRead TileReader::symbols_of(size_t block) {
  return {&exponent_table(table_[block])->code, stream_copy_, &exponent_position_,
          symbols_ + block * kBlockValues};
}

const char* TileReader::read(BlockParts& parts, size_t most, void* values, size_t& count) {
  count = 0;
  if (usual_) {
    const size_t full_blocks = std::min(most, values_ - block_ * kBlockValues) / kBlockValues;
    UsualParts from = {planes_, list_, streams_.symbols};
    const size_t done =
        kernels_->decode_usual(records_ + block_, full_blocks, from, static_cast<uint8_t*>(values));
    planes_ = from.planes;
    list_ = from.list;
    streams_.symbols = from.symbols;
    block_ += done;
    count = done * kBlockValues;
  }
  if (count == 0) {
    count = next_values();
    if (const char* wrong = read_next_block(parts, count, values)) return wrong;
  }
  if (next_values() != 0) return nullptr;
  if (at_end(exponent_position_, exponent_end_) && at_end(streams_.low_position, low_end_))
    return nullptr;
  return "a tile's streams do not end where they should";
}

const char* TileReader::read_next_block(BlockParts& parts, size_t count, void* values) {
  const BlockRecord& record = records_[block_];
  const size_t plane_bytes = plane_bytes_[block_++];
  const size_t list_bytes = list_bytes_of(shape_, record);
  const Kernels& fit = count == kBlockValues ? *kernels_ : portable_kernels();
  const char* wrong = read_block(shape_, fit, record, {planes_, plane_bytes}, {list_, list_bytes},
                                 count, streams_, parts, values);
  planes_ += plane_bytes;
  list_ += list_bytes;
  return wrong;
}

}  // namespace strait::codec
