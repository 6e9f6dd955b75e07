#include <algorithm>

#include "codec/bytes.hpp"
#include "codec/kernels.hpp"
#define STRAIT_CODEC_TARGET portable
#include "codec/choose_tables.hpp"
#include "codec/lane_ends.hpp"
#include "codec/symbols.hpp"

// Plain C++ for every machine, and for blocks that are not full.
namespace strait::codec {
namespace {

template <class Word>
void split_words(const Shape& shape, const void* values, size_t n, BlockParts& parts) {
  const auto* in = static_cast<const std::byte*>(values);
  const int mantissa = shape.mantissa_bits;
  const size_t byte_planes = shape.byte_planes();
  const Word mantissa_mask = static_cast<Word>((uint64_t{1} << mantissa) - 1);
  const uint32_t exponent_mask = (1u << shape.exponent_bits) - 1;
  for (size_t i = 0; i < n; ++i) {
    const Word word = load<Word>(in + i * sizeof(Word));
    const uint32_t exponent = static_cast<uint32_t>(word >> mantissa) & exponent_mask;
    const uint64_t sign = word >> (sizeof(Word) * 8 - 1);
    const uint64_t residual = (word & mantissa_mask) | (sign << mantissa);
    parts.exponent[i] = static_cast<uint8_t>(exponent);
    if constexpr (sizeof(Word) == 8) parts.exponent_high[i] = static_cast<uint8_t>(exponent >> 8);
    for (size_t p = 0; p < byte_planes; ++p)
      parts.split_to[p][i] = static_cast<uint8_t>(residual >> (8 * p));
    parts.bits[i] = static_cast<uint8_t>(residual >> (8 * byte_planes));
  }
}

template <class Word>
void join_words(const Shape& shape, const BlockParts& parts, size_t n, void* values) {
  auto* out = static_cast<std::byte*>(values);
  const int mantissa = shape.mantissa_bits;
  const size_t byte_planes = shape.byte_planes();
  const bool has_bits = shape.bit_planes() != 0;
  const uint64_t mantissa_mask = (uint64_t{1} << mantissa) - 1;
  for (size_t i = 0; i < n; ++i) {
    uint64_t exponent = parts.exponent[i];
    if constexpr (sizeof(Word) == 8) exponent |= uint64_t{parts.exponent_high[i]} << 8;
    uint64_t residual = has_bits ? uint64_t{parts.bits[i]} << (8 * byte_planes) : 0;
    for (size_t p = 0; p < byte_planes; ++p) residual |= uint64_t{parts.plane[p][i]} << (8 * p);
    const uint64_t sign = residual >> mantissa;
    const uint64_t word =
        (residual & mantissa_mask) | (exponent << mantissa) | (sign << (sizeof(Word) * 8 - 1));
    store<Word>(out + i * sizeof(Word), static_cast<Word>(word));
  }
}

void split(const Shape& shape, const void* values, size_t n, BlockParts& parts) {
  switch (shape.value_bytes) {
    case 1:
      return split_words<uint8_t>(shape, values, n, parts);
    case 2:
      return split_words<uint16_t>(shape, values, n, parts);
    case 4:
      return split_words<uint32_t>(shape, values, n, parts);
    default:
      return split_words<uint64_t>(shape, values, n, parts);
  }
}

void join(const Shape& shape, const BlockParts& parts, size_t n, void* values) {
  switch (shape.value_bytes) {
    case 1:
      return join_words<uint8_t>(shape, parts, n, values);
    case 2:
      return join_words<uint16_t>(shape, parts, n, values);
    case 4:
      return join_words<uint32_t>(shape, parts, n, values);
    default:
      return join_words<uint64_t>(shape, parts, n, values);
  }
}

uint32_t sum(const uint8_t* bytes, size_t n) {
  uint32_t total = 0;
  for (size_t i = 0; i < n; ++i) total += bytes[i];
  return total;
}

ExponentRange range(const uint8_t* bytes, size_t n) {
  ExponentRange found = {255, 0, 0, 0};
  for (size_t i = 0; i < n; ++i) {
    found.min = std::min<uint32_t>(found.min, bytes[i]);
    found.max = std::max<uint32_t>(found.max, bytes[i]);
    found.zeros += bytes[i] == 0;
    found.sum += bytes[i];
  }
  return found;
}

void count(const uint8_t* bytes, size_t n, ExponentBins& bins) {
  uint16_t all[256] = {};
  for (size_t i = 0; i < n; ++i) ++all[bytes[i]];
  for (int k = 0; k < kBins; ++k) bins.count[k] = all[(bins.top - k) & 255];
}

void count_sample(const uint8_t* start, const uint8_t* middle, ExponentBins& bins) {
  uint8_t chosen[2 * kSampleValues];
  std::memcpy(chosen, start, kSampleValues);
  std::memcpy(chosen + kSampleValues, middle, kSampleValues);
  bins.top = static_cast<int>(sum(chosen, sizeof chosen) / sizeof chosen) + kAboveMean;
  count(chosen, sizeof chosen, bins);
}

void find_windows(const ExponentBins& bins, size_t n, WindowPlaces& places) {
  uint16_t before[kBins + 1] = {};
  for (int k = 0; k < kBins; ++k) before[k + 1] = static_cast<uint16_t>(before[k] + bins.count[k]);
  places.counted = before[kBins];
  for (int width = 1; width <= kSearchedWidths; ++width) {
    const int span = (1 << width) - 1;
    uint32_t least = ~0u;
    for (int first = 0; first + span <= kBins; ++first) {
      const auto outside = static_cast<uint32_t>(n) + before[first] - before[first + span];
      if (outside >= least) continue;
      least = outside;
      places.first[width - 1] = static_cast<uint8_t>(first);
    }
    places.outside[width - 1] = static_cast<uint16_t>(least);
  }
}

size_t count_zeros(const uint8_t* bytes, size_t n, uint8_t mask) {
  size_t zeros = 0;
  for (size_t i = 0; i < n; ++i) zeros += (bytes[i] & mask) == 0;
  return zeros;
}

constexpr uint64_t kEachByte = 0x0101010101010101;
constexpr uint64_t kByteBits = 0x8040201008040201;  // bit i of byte i
constexpr uint64_t kCollect = 0x0102040810204080;   // moves bit 0 of byte i to bit 56 + i

void pack_bits(const uint8_t* codes, size_t n, size_t width, uint8_t* planes) {
  const size_t stride = bit_bytes(n);
  for (size_t i = 0; i < n; i += 8) {
    uint64_t eight = 0;
    std::memcpy(&eight, codes + i, std::min<size_t>(8, n - i));
    for (size_t p = 0; p < width; ++p)
      planes[p * stride + i / 8] =
          static_cast<uint8_t>((((eight >> p) & kEachByte) * kCollect) >> 56);
  }
}

void unpack_bits(const uint8_t* planes, size_t n, size_t width, uint8_t* codes) {
  const size_t stride = bit_bytes(n);
  for (size_t i = 0; i < n; i += 8) {
    uint64_t eight = 0;
    for (size_t p = 0; p < width; ++p) {
      const uint64_t bits = (planes[p * stride + i / 8] * kEachByte) & kByteBits;
      const uint64_t ones = ((bits + (0x7F * kEachByte)) | bits) >> 7 & kEachByte;
      eight |= ones << p;
    }
    std::memcpy(codes + i, &eight, std::min<size_t>(8, n - i));
  }
}

size_t pack_window(const uint8_t* bytes, size_t n, size_t width, uint8_t top, uint8_t* planes,
                   uint8_t* list) {
  uint8_t codes[kBlockValues];
  const auto escape = static_cast<uint8_t>((1u << width) - 1);
  size_t taken = 0;
  for (size_t i = 0; i < n; ++i) {
    codes[i] = std::min(static_cast<uint8_t>(top - bytes[i]), escape);
    list[taken] = bytes[i];
    taken += codes[i] == escape;
  }
  pack_bits(codes, n, width, planes);
  return taken;
}

size_t unpack_window(const uint8_t* planes, size_t n, size_t width, uint8_t top, uint8_t mask,
                     const uint8_t* list, size_t list_bytes, uint8_t* bytes) {
  uint8_t codes[kBlockValues];
  unpack_bits(planes, n, width, codes);
  const auto escape = static_cast<uint8_t>((1u << width) - 1);
  size_t taken = 0;
  for (size_t i = 0; i < n; ++i) {
    bytes[i] = static_cast<uint8_t>(top - codes[i]) & mask;
    if (codes[i] != escape) continue;
    if (taken < list_bytes) bytes[i] = list[taken] & mask;
    ++taken;
  }
  return taken;
}

size_t pack_nonzero(const uint8_t* bytes, size_t n, uint8_t* bits, uint8_t* list) {
  size_t taken = 0;
  std::memset(bits, 0, bit_bytes(n));
  for (size_t i = 0; i < n; ++i) {
    list[taken] = bytes[i];
    taken += bytes[i] != 0;
    bits[i / 8] = static_cast<uint8_t>(bits[i / 8] | (bytes[i] != 0) << (i % 8));
  }
  return taken;
}

size_t unpack_nonzero(const uint8_t* bits, size_t n, const uint8_t* list, size_t list_bytes,
                      uint8_t* bytes) {
  size_t taken = 0;
  for (size_t i = 0; i < n; ++i) {
    bytes[i] = 0;
    if (!(bits[i / 8] >> (i % 8) & 1)) continue;
    if (taken < list_bytes) bytes[i] = list[taken];
    ++taken;
  }
  return taken;
}

size_t to_symbols(const ExponentTable& table, const uint8_t* bytes, uint8_t top, uint8_t* symbols,
                  uint8_t* list) {
  size_t taken = 0;
  for (size_t i = 0; i < kBlockValues; ++i) {
    const uint8_t below = static_cast<uint8_t>(top - bytes[i]);
    const uint8_t near = table.near[below < kSymbols - 1 ? below : kSymbols - 1];
    symbols[i] = bytes[i] == 0 ? table.zero : near;
    list[taken] = bytes[i];
    taken += symbols[i] == kSymbolEscape;
  }
  return taken;
}

size_t from_symbols(const uint8_t* symbols, uint8_t top, uint8_t mask, const uint8_t* list,
                    size_t list_bytes, uint8_t* bytes) {
  size_t taken = 0;
  for (size_t i = 0; i < kBlockValues; ++i) {
    bytes[i] = symbols[i] == kSymbolZero ? 0 : static_cast<uint8_t>(top - symbols[i]) & mask;
    if (symbols[i] != kSymbolEscape) continue;
    if (taken < list_bytes) bytes[i] = list[taken] & mask;
    ++taken;
  }
  return taken;
}

}  // namespace
}  // namespace strait::codec

#include "codec/guess.hpp"
#include "codec/halves.hpp"

namespace strait::codec {

const Kernels& portable_kernels() {
  static constexpr Kernels kKernels = {
      .name = "portable",
      .split = split,
      .join = join,
      .sum = sum,
      .range = range,
      .count = count,
      .find_windows = find_windows,
      .guess_window = portable::guess_window,
      .count_zeros = count_zeros,
      .pack_bits = pack_bits,
      .unpack_bits = unpack_bits,
      .pack_window = pack_window,
      .unpack_window = unpack_window,
      .pack_nonzero = pack_nonzero,
      .unpack_nonzero = unpack_nonzero,
      .pack_halves = portable::pack_halves,
      .unpack_halves = portable::unpack_halves,
      .cheapest_table = portable::cheapest_table,
      .survey = portable::survey,
      .choose_tables = portable::choose_tables,
      .to_symbols = to_symbols,
      .from_symbols = from_symbols,
      .to_pieces = portable::to_pieces,
      .append_lanes = portable::append_lanes,
      .read_symbols = portable::read_symbols,
      .read_low = nullptr,
      .encode_usual = nullptr,
      .decode_usual = nullptr,
  };
  return kKernels;
}

}  // namespace strait::codec
