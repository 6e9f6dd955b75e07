#include "codec/survey.hpp"

#include <cstring>

#include "codec/block.hpp"
#include "codec/sparse.hpp"
#include "codec/user_tables.hpp"

namespace strait::codec {
namespace {

constexpr size_t kAhead = 4;  // blocks

bool all_full(const Shape& shape, const Kernels& kernels, const BlockParts& parts) {
  for (size_t p = 0; p < shape.byte_planes(); ++p)
    if (choose_plane(kernels, parts.split_to[p], kBlockValues).mode != PlaneMode::kFull)
      return false;
  return true;
}

// What is read and written some blocks later, in lines of the cache.
void fetch_ahead(const uint8_t* values, size_t value_bytes, const uint8_t* planes,
                 size_t plane_bytes) {
  for (size_t at = 0; at < value_bytes; at += 64) __builtin_prefetch(values + at);
  for (size_t at = 0; at < plane_bytes; at += 64) __builtin_prefetch(planes + at, 1);
}

}  // namespace

void cut_full_block(const Shape& shape, const Kernels& kernels, const void* values, uint8_t* planes,
                    BlockParts& parts) {
  for (size_t p = 0; p < shape.byte_planes(); ++p) parts.split_to[p] = planes + p * kBlockValues;
  kernels.split(shape, values, kBlockValues, parts);
  if (shape.bit_planes() != 0)
    kernels.pack_bits(parts.bits, kBlockValues, shape.bit_planes(),
                      planes + shape.byte_planes() * kBlockValues);
}

void TileSurvey::take(const Shape& shape, const Kernels& kernels, const uint8_t* values,
                      size_t blocks, uint8_t* planes, BlockParts& parts) {
  blocks_ = blocks;
  const size_t value_bytes = kBlockValues * shape.value_bytes;
  for (size_t block = 0; block < blocks; ++block) {
    fetch_ahead(values + kAhead * value_bytes, value_bytes,
                planes + kAhead * full_plane_bytes(shape), full_plane_bytes(shape));
    parts.exponent = exponents(block);
    certain_[block] = !all_equal(values, shape.value_bytes, kBlockValues);
    if (certain_[block]) {
      cut_full_block(shape, kernels, values, planes, parts);
      certain_[block] = all_full(shape, kernels, parts);
    }
    if (certain_[block]) kernels.survey(exponents(block), block, counts_);
    values += value_bytes;
    planes += full_plane_bytes(shape);
  }
  kernels.choose_tables(counts_, shape.exponent_bits, choices_);
  if (has_user_tables())
    for (size_t block = 0; block < blocks; ++block) choose_user_table(block);
  constexpr size_t kPlane = bit_bytes(kBlockValues);
  for (size_t block = 0; block < blocks; ++block) {
    const size_t window_bytes = choices_.window_bytes[block];
    // Else the window is not necessarily the cheapest, or its bins are badly placed.
    const bool known = choices_.counted[block] >= kBlockValues - kBlockValues / 4 &&
                       window_bytes > kPlane && window_bytes <= 5 * kPlane;
    certain_[block] = certain_[block] && known && choices_.table_bits[block] / 8u < window_bytes;
  }
}

void TileSurvey::choose_user_table(size_t block) {
  uint16_t counts[kPriced];
  price_counts(counts_.bins[block], counts_.top[block], counts_.zeros[block], counts);
  uint32_t table = choices_.table[block], bits = choices_.table_bits[block];
  try_user_tables(counts, table, bits);
  choices_.table[block] = static_cast<uint16_t>(table);
  choices_.table_bits[block] = static_cast<uint16_t>(bits);
}

}  // namespace strait::codec
