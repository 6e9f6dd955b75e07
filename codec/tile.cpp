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

// One tile on its way out: what its blocks put behind the planes waits here.
class TileWriter {
 public:
  TileWriter(const Shape& shape, const Kernels& kernels, Mode mode, const void* values, size_t n,
             std::span<uint8_t> out)
      : shape_(shape),
        kernels_(kernels),
        streams_used_(mode == Mode::kDense),
        in_(static_cast<const uint8_t*>(values)),
        values_(n),
        blocks_(blocks_of(n)),
        out_(out),
        used_(round_up(shape.record_bytes() * blocks_, kAlign)) {
    streams_.exponents.used = 0;
    streams_.low.blocks = 0;
  }

  size_t write() {
    if (used_ > out_.size()) return 0;
    std::memset(out_.data(), 0, used_);
    while (block_ < blocks_) {
      write_usual_blocks();
      if (block_ < blocks_ && !write_next_block()) return 0;
    }
    return finish();
  }

 private:
  size_t room() const { return out_.size() - used_ - list_used_; }

  void write_usual_blocks() {
    if (kernels_.encode_usual == nullptr || streams_used_ || !has_usual_blocks(shape_)) return;
    uint8_t* const top = out_.data() + block_;
    const UsualRecords records = {top, top + blocks_, top + 2 * blocks_};
    UsualRoom left = {out_.data() + used_, lists_ + list_used_, room()};
    const size_t full_blocks = values_ / kBlockValues - block_;
    const size_t written = kernels_.encode_usual(in_, full_blocks, records, left);
    used_ = static_cast<size_t>(left.planes - out_.data());
    list_used_ = static_cast<size_t>(left.list - lists_);
    block_ += written;
    in_ += written * kBlockValues * shape_.value_bytes;
  }

  bool write_next_block() {
    const size_t count = values_of_block(block_, values_);
    const Kernels& fit = count == kBlockValues ? kernels_ : portable_kernels();
    uint8_t* const list = lists_ + list_used_;
    choose_block(shape_, fit, in_, count, parts_, streams_used_ ? &streams_ : nullptr,
                 out_.subspan(used_), list, choice_);
    if (choice_.plane_bytes + choice_.list_bytes > room()) return false;
    write_block(shape_, fit, in_, count, parts_, choice_, out_.data() + used_, list);
    store_record(shape_, choice_.record, block_, blocks_, out_.data());
    used_ += choice_.plane_bytes;
    list_used_ += choice_.list_bytes;
    in_ += count * shape_.value_bytes;
    ++block_;
    return true;
  }

  // Lists and streams; returns the tile's bytes, or 0 when the room does not suffice.
  size_t finish() {
    uint8_t* const tile = out_.data();
    std::memcpy(tile + used_, lists_, list_used_);
    used_ += list_used_;
    if (streams_.exponents.used != 0) {
      const size_t bytes = write_streams(kernels_.append_lanes, streams_.exponents, tile + used_,
                                         out_.size() - used_);
      if (bytes == 0) return 0;
      used_ += bytes;
    }
    if (streams_.low.blocks != 0) {
      const size_t bytes = write_low_streams(streams_.low, tile + used_, out_.size() - used_);
      if (bytes == 0) return 0;
      used_ += bytes;
    }
    const size_t total = round_up(used_, kAlign);
    if (total > out_.size()) return 0;
    std::memset(tile + used_, 0, total - used_);
    return total;
  }

  const Shape& shape_;
  const Kernels& kernels_;
  const bool streams_used_;
  const uint8_t* in_;
  const size_t values_;
  const size_t blocks_;
  const std::span<uint8_t> out_;
  size_t used_;
  size_t list_used_ = 0;
  size_t block_ = 0;
  BlockChoice choice_;
  BlockParts parts_;
  StreamParts streams_;
  uint8_t lists_[kTileBlocks * kMaxListBytes + kMaxListBytes + kListSlack];
};

}  // namespace

size_t encode_tile(const Shape& shape, const Kernels& kernels, Mode mode, const void* values,
                   size_t n, std::byte* out, size_t room) {
  TileWriter writer(shape, kernels, mode, values, n, {reinterpret_cast<uint8_t*>(out), room});
  return writer.write();
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
    const size_t usual = count == kBlockValues && has_usual_blocks(shape) ? usual_width(record) : 0;
    if (usual != 0) {
      plane_bytes_[block] = static_cast<uint32_t>(kBlockValues + usual * bit_bytes(kBlockValues));
      list_bytes += record.list;
    } else {
      if (const char* wrong = check_record(shape, record, count)) return wrong;
      plane_bytes_[block] = static_cast<uint32_t>(plane_bytes_of(shape, record, count));
      list_bytes += list_bytes_of(shape, record);
      exponents = exponents || record.method() >= kMethodTable;
      low = low || record.has_low_table(shape);
    }
    used += plane_bytes_[block];
  }
  list_ = bytes + used;
  used += list_bytes;
  if (used > tile.size()) return "a tile is shorter than its blocks";
  copy_lists(list_bytes);
  return open_all_streams({bytes + used, tile.size() - used}, exponents, low);
}

// Where usual blocks may read a little beyond a list.
void TileReader::copy_lists(size_t bytes) {
  usual_ = kernels_->decode_usual != nullptr && has_usual_blocks(shape_) &&
           bytes <= sizeof list_copy_ - kListSlack;
  if (!usual_) return;
  std::memcpy(list_copy_, list_, bytes);
  std::memset(list_copy_ + bytes, 0, kListSlack);
  list_ = list_copy_;
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

const char* TileReader::read(BlockParts& parts, size_t most, void* values, size_t& count) {
  count = 0;
  if (usual_) {
    const size_t full_blocks = std::min(most, values_ - block_ * kBlockValues) / kBlockValues;
    const size_t done = kernels_->decode_usual(records_ + block_, full_blocks, planes_, list_,
                                               static_cast<uint8_t*>(values));
    block_ += done;
    count = done * kBlockValues;
  }
  if (count == 0) {
    count = next_values();
    if (const char* wrong = read_next_block(parts, count, values)) return wrong;
  }
  if (next_values() != 0) return nullptr;
  if (at_end(streams_.exponent_position, exponent_end_) && at_end(streams_.low_position, low_end_))
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
