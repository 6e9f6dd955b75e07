#include "codec/tile.hpp"

#include <algorithm>
#include <cstring>

#include "codec/bytes.hpp"
#include "codec/survey.hpp"

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
    if (streams_used_) take_survey();
    while (block_ < blocks_) {
      write_usual_blocks();
      if (block_ < blocks_ && !write_surveyed_block() && !write_next_block()) return 0;
    }
    return finish();
  }

 private:
  size_t list_bytes() const { return static_cast<size_t>(list_ - lists_); }
  size_t room() const { return out_.size() - used_ - list_bytes(); }

  void write_usual_blocks() {
    if (kernels_.encode_usual == nullptr || streams_used_ || !has_usual_blocks(shape_)) return;
    uint8_t* const top = out_.data() + block_;
    const UsualRecords records = {top, top + blocks_, top + 2 * blocks_};
    UsualRoom left = {out_.data() + used_, list_, room()};
    const size_t full_blocks = values_ / kBlockValues - block_;
    const size_t written = kernels_.encode_usual(in_, full_blocks, records, left);
    used_ = static_cast<size_t>(left.planes - out_.data());
    list_ = left.list;
    block_ += written;
    in_ += written * kBlockValues * shape_.value_bytes;
  }

  void take_survey() {
    const size_t blocks = values_ / kBlockValues;
    if (shape_.exponent_bits > 8 || blocks * full_plane_bytes(shape_) > room()) return;
    survey_.take(shape_, kernels_, in_, blocks, out_.data() + used_, parts_);
    cut_ = true;
  }

  // False, and nothing done, where the block needs a closer look.
  bool write_surveyed_block() {
    if (!survey_.is_certain(block_) || full_plane_bytes(shape_) > room()) return false;
    parts_.exponent = survey_.exponents(block_);
    uint8_t* const planes = out_.data() + used_;
    if (!cut_) cut_full_block(shape_, kernels_, in_, planes, parts_);
    choice_ = {};
    if (!use_table(shape_, kernels_, parts_, survey_.table(block_).table, survey_.mean(block_),
                   streams_.exponents, list_, choice_))
      return false;
    choice_.plane_bytes = full_plane_bytes(shape_);
    choice_.list_bytes = choice_.escape_bytes;
    set_full_planes(shape_, choice_);
    end_block(kBlockValues);
    return true;
  }

  bool write_next_block() {
    parts_.exponent = parts_.exponent_room;
    cut_ = false;  // where the next blocks' planes belong is known no more
    const size_t count = values_of_block(block_, values_);
    const Kernels& fit = count == kBlockValues ? kernels_ : portable_kernels();
    choose_block(shape_, fit, in_, count, parts_, streams_used_ ? &streams_ : nullptr,
                 out_.subspan(used_), list_, choice_);
    if (choice_.plane_bytes + choice_.list_bytes > room()) return false;
    write_block(shape_, fit, in_, count, parts_, choice_, out_.data() + used_, list_);
    end_block(count);
    return true;
  }

  void end_block(size_t count) {
    store_record(shape_, choice_.record, block_, blocks_, out_.data());
    used_ += choice_.plane_bytes;
    list_ += choice_.list_bytes;
    in_ += count * shape_.value_bytes;
    ++block_;
  }

  // Lists and streams; returns the tile's bytes, or 0 when the room does not suffice.
  size_t finish() {
    uint8_t* const tile = out_.data();
    std::memcpy(tile + used_, lists_, list_bytes());
    used_ += list_bytes();
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
  uint8_t* list_ = lists_;
  size_t block_ = 0;
  bool cut_ = false;  // the survey put the planes where they belong
  BlockChoice choice_;
  BlockParts parts_;
  StreamParts streams_;
  TileSurvey survey_;
  uint8_t lists_[kTileBlocks * kMaxListBytes + kMaxListBytes + kListSlack];
};

}  // namespace

size_t encode_tile(const Shape& shape, const Kernels& kernels, Mode mode, const void* values,
                   size_t n, std::byte* out, size_t room) {
  TileWriter writer(shape, kernels, mode, values, n, {reinterpret_cast<uint8_t*>(out), room});
  return writer.write();
}

}  // namespace strait::codec
