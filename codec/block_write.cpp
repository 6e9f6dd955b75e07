#include <algorithm>
#include <cstring>

#include "codec/block.hpp"
#include "codec/bytes.hpp"
#include "codec/choose.hpp"
#include "codec/sparse.hpp"
#include "codec/user_tables.hpp"

namespace strait::codec {
namespace {

bool is_wide(const Shape& shape) {
  return shape.exponent_bits > 8;
}

uint32_t full_exponent(const BlockParts& parts, size_t i) {
  return parts.exponent[i] | uint32_t{parts.exponent_high[i]} << 8;
}

// fp64: exponents as bytes, the largest as 255 where they reach beyond; what is too low becomes 0.
// Returns what was taken off.
uint32_t narrow(const BlockParts& parts, size_t n, uint8_t* bytes) {
  uint32_t largest = 0;
  for (size_t i = 0; i < n; ++i) largest = std::max(largest, full_exponent(parts, i));
  const uint32_t offset = largest > 255 ? largest - 255 : 0;
  for (size_t i = 0; i < n; ++i)
    bytes[i] = static_cast<uint8_t>(std::max(full_exponent(parts, i), offset) - offset);
  return offset;
}

void set_plane_mode(BlockRecord& record, size_t plane, size_t planes, PlaneMode mode) {
  if (plane + 1 == planes)
    record.kind = static_cast<uint8_t>(record.kind | static_cast<unsigned>(mode) << 6);
  else
    record.low = static_cast<uint16_t>(record.low | static_cast<unsigned>(mode) << (2 * plane));
}

void choose_constant(const Shape& shape, const void* values, BlockChoice& block) {
  constexpr std::byte kNothing[8] = {};
  if (std::memcmp(values, kNothing, shape.value_bytes) == 0) return;
  block.record.kind = kMethodConstant;
  block.record.list = shape.value_bytes;
  block.list_bytes = shape.value_bytes;
}

// Symbols of wider exponents than bytes; as kernels.to_symbols.
size_t to_wide_symbols(const Shape& shape, const ExponentTable& table, const BlockParts& parts,
                       uint32_t top, uint8_t* symbols, uint8_t* list) {
  size_t taken = 0;
  for (size_t i = 0; i < kBlockValues; ++i) {
    const uint32_t exponent = full_exponent(parts, i);
    const uint32_t below = (top - exponent) & ((1u << shape.exponent_bits) - 1);
    symbols[i] = exponent == 0 ? table.zero : table.near[std::min(below, kSymbols - 1u)];
    if (symbols[i] != kSymbolEscape) continue;
    store<uint16_t>(list + taken, static_cast<uint16_t>(exponent));
    taken += 2;
  }
  return taken;
}

// Packs the exponents' codes into parts.exponent_planes; returns the bytes that escaped into list.
size_t pack_exponents(const Shape& shape, const Kernels& kernels, const BlockRecord& record,
                      size_t n, BlockParts& parts, uint8_t* list) {
  const size_t width = record.method() - kMethodWindow;
  uint8_t* const planes = parts.exponents_to;
  if (width == 0) return 0;
  if (width == shape.exponent_bits) {
    const size_t low = std::min<size_t>(width, 8);
    kernels.pack_bits(parts.exponent, n, low, planes);
    if (width > low)
      kernels.pack_bits(parts.exponent_high, n, width - low, planes + low * bit_bytes(n));
    return 0;
  }
  const auto top = static_cast<uint8_t>(record.top);
  if (!is_wide(shape)) return kernels.pack_window(parts.exponent, n, width, top, planes, list);
  uint8_t codes[kBlockValues];
  const uint32_t escape = (1u << width) - 1;
  size_t taken = 0;
  for (size_t i = 0; i < n; ++i) {
    const uint32_t exponent = full_exponent(parts, i);
    const uint32_t below = (record.top - exponent) & ((1u << shape.exponent_bits) - 1);
    codes[i] = static_cast<uint8_t>(std::min(below, escape));
    if (codes[i] != escape) continue;
    store<uint16_t>(list + taken, static_cast<uint16_t>(exponent));
    taken += 2;
  }
  kernels.pack_bits(codes, n, width, planes);
  return taken;
}

void use_window(const Shape& shape, const Window& window, uint32_t offset, BlockRecord& record) {
  record.kind = static_cast<uint8_t>(kMethodWindow + window.width);
  record.top = window.width < shape.exponent_bits ? static_cast<uint16_t>(window.top + offset) : 0;
}

void choose_exponents(const Shape& shape, const Kernels& kernels, size_t n, BlockParts& parts,
                      StreamParts* streams, uint8_t* list, BlockChoice& block) {
  uint8_t narrowed[kBlockValues];
  const uint8_t* bytes = parts.exponent;
  uint32_t offset = 0;
  if (is_wide(shape)) {
    offset = narrow(parts, n, narrowed);
    bytes = narrowed;
  } else if (streams == nullptr && n == kBlockValues) {
    WindowGuess guess;
    kernels.guess_window(bytes, shape.exponent_bits, guess);
    use_window(shape, {guess.width, guess.top, 0}, 0, block.record);
    if (guess.width != 0) {
      block.escape_bytes = pack_exponents(shape, kernels, block.record, n, parts, list);
      if (block.escape_bytes <= bit_bytes(n)) return;
    }
  }
  ExponentBins bins;
  const Window window = choose_window(shape, kernels, bytes, offset > 0, n, bins);
  use_window(shape, window, offset, block.record);
  if (streams != nullptr && n == kBlockValues && window.width != 0) {
    const size_t window_bytes = window.width * bit_bytes(n) + window.escapes * shape.top_bytes();
    const int mean = bins.top - kAboveMean + static_cast<int>(offset);
    const TableChoice choice = choose_table(kernels, bytes, offset > 0, bins);
    if (choice.bits / 8 < window_bytes &&
        use_table(shape, kernels, parts, choice.table, mean, streams->exponents, list, block))
      return;
  }
  block.escape_bytes = pack_exponents(shape, kernels, block.record, n, parts, list);
}

// The byte planes of a block, from the highest down: what is decided first gets the list's room.
// Returns whether all are full.
bool choose_planes(const Shape& shape, const Kernels& kernels, const BlockParts& parts, size_t n,
                   StreamParts* streams, BlockChoice& block) {
  size_t list_bytes = block.escape_bytes;
  bool sparse = false;
  PlaneCost costs[kMaxBytePlanes];
  for (size_t p = shape.byte_planes(); p-- > 0;) {
    costs[p] = choose_plane(kernels, parts.split_to[p], n);
    if (list_bytes + costs[p].list_bytes > kMaxListBytes) costs[p] = {PlaneMode::kFull, n, 0};
    list_bytes += costs[p].list_bytes;
  }
  size_t first = 0;
  bool full = true;
  if (streams != nullptr && n == kBlockValues && shape.value_bytes == 4 &&
      costs[0].mode != PlaneMode::kFull) {
    const size_t bytes =
        costs[0].plane_bytes + costs[0].list_bytes + costs[1].plane_bytes + costs[1].list_bytes;
    uint32_t bits = 0;
    const uint32_t table = choose_low_table(parts.split_to[0], parts.split_to[1], bits);
    if (bits / 8 < bytes) {
      streams->low.add(table, parts.split_to[0], parts.split_to[1]);
      block.record.low = static_cast<uint16_t>(kLowTable + table);
      list_bytes -= costs[0].list_bytes + costs[1].list_bytes;
      first = 2;
      full = false;
    }
  }
  for (size_t p = first; p < shape.byte_planes(); ++p) {
    set_plane_mode(block.record, p, shape.byte_planes(), costs[p].mode);
    full = full && costs[p].mode == PlaneMode::kFull;
    sparse = sparse || costs[p].mode >= PlaneMode::kSparse;
  }
  block.list_bytes = sparse ? round_up(list_bytes, kSparseListUnit) : list_bytes;
  block.record.list =
      static_cast<uint8_t>(sparse ? block.list_bytes / kSparseListUnit : list_bytes);
  return full;
}

// Full planes can be split to where they belong: the start of the block's planes.
void point_planes(const Shape& shape, size_t n, std::span<uint8_t> room, BlockParts& parts) {
  const size_t full = shape.byte_planes() * n + shape.bit_planes() * bit_bytes(n);
  const bool fits = n == kBlockValues && full + shape.exponent_bits * bit_bytes(n) <= room.size();
  for (size_t p = 0; p < shape.byte_planes(); ++p)
    parts.split_to[p] = fits ? room.data() + p * n : parts.room[p];
  parts.exponents_to = fits ? room.data() + full : parts.exponent_planes;
}

// Takes the planes away from where they will not stay.
void pull_planes(const Shape& shape, size_t n, BlockParts& parts) {
  for (size_t p = 0; p < shape.byte_planes(); ++p) {
    if (parts.split_to[p] == parts.room[p]) return;
    std::memcpy(parts.room[p], parts.split_to[p], n);
    parts.split_to[p] = parts.room[p];
  }
}

}  // namespace

bool all_equal(const void* values, size_t value_bytes, size_t n) {
  const auto* bytes = static_cast<const std::byte*>(values);
  if (n > 1 && std::memcmp(bytes, bytes + value_bytes, value_bytes) != 0) return false;
  return std::memcmp(bytes, bytes + value_bytes, (n - 1) * value_bytes) == 0;
}

void set_full_planes(const Shape& shape, BlockChoice& block) {
  for (size_t p = 0; p < shape.byte_planes(); ++p)
    set_plane_mode(block.record, p, shape.byte_planes(), PlaneMode::kFull);
  block.record.list = static_cast<uint8_t>(block.list_bytes);
}

bool use_table(const Shape& shape, const Kernels& kernels, const BlockParts& parts, uint32_t index,
               int mean, LanePieces& pieces, uint8_t* list, BlockChoice& block) {
  const ExponentTable& table = *exponent_table(index);
  const auto top = static_cast<uint32_t>(mean + table.above);
  uint8_t symbols[kBlockValues];
  const size_t bytes =
      is_wide(shape)
          ? to_wide_symbols(shape, table, parts, top, symbols, list)
          : kernels.to_symbols(table, parts.exponent, static_cast<uint8_t>(top), symbols, list);
  if (bytes > 255) return false;
  pieces.used +=
      kernels.to_pieces(table.code, symbols, pieces.bits + pieces.used, pieces.count + pieces.used);
  block.record.kind = static_cast<uint8_t>(kMethodTable + index);
  block.record.top = static_cast<uint16_t>(is_wide(shape) ? top : top & 255);
  block.escape_bytes = bytes;
  return true;
}

void choose_block(const Shape& shape, const Kernels& kernels, const void* values, size_t n,
                  BlockParts& parts, StreamParts* streams, std::span<uint8_t> plane_room,
                  uint8_t* list, BlockChoice& block) {
  block = {};
  if (all_equal(values, shape.value_bytes, n)) return choose_constant(shape, values, block);
  point_planes(shape, n, plane_room, parts);
  kernels.split(shape, values, n, parts);
  choose_exponents(shape, kernels, n, parts, streams, list, block);
  if (!choose_planes(shape, kernels, parts, n, streams, block)) pull_planes(shape, n, parts);
  block.plane_bytes = plane_bytes_of(shape, block.record, n);
  if (block.record.method() < kMethodTable)
    block.exponent_bytes = (block.record.method() - kMethodWindow) * bit_bytes(n);
}

void write_block(const Shape& shape, const Kernels& kernels, const void* values, size_t n,
                 const BlockParts& parts, const BlockChoice& choice, uint8_t* planes,
                 uint8_t* list) {
  const BlockRecord& record = choice.record;
  if (record.method() == kMethodZero) return;
  if (record.method() == kMethodConstant) {
    std::memcpy(list, values, shape.value_bytes);
    return;
  }
  uint8_t* const list_end = list + choice.list_bytes;
  list += choice.escape_bytes;
  uint8_t* const exponents = planes + choice.plane_bytes - choice.exponent_bytes;
  for (size_t p = record.has_low_table(shape) ? 2 : 0; p < shape.byte_planes(); ++p)
    write_plane(kernels, record.plane(p, shape.byte_planes()), parts.split_to[p], n, planes, list);
  if (shape.bit_planes() != 0) kernels.pack_bits(parts.bits, n, shape.bit_planes(), planes);
  if (exponents != parts.exponents_to)
    std::memmove(exponents, parts.exponents_to, choice.exponent_bytes);
  std::memset(list, 0, static_cast<size_t>(list_end - list));
}

}  // namespace strait::codec
