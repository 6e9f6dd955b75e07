#include <algorithm>
#include <cstring>

#include "codec/block.hpp"
#include "codec/bytes.hpp"
#include "codec/sparse.hpp"

namespace strait::codec {
namespace {

bool is_wide(const Shape& shape) {
  return shape.exponent_bits > 8;
}

// Returns the list's rest, or null when the list is too short.
const uint8_t* read_wide_window(const Shape& shape, const uint8_t* codes, size_t n, uint32_t top,
                                uint8_t escape, const uint8_t* list, const uint8_t* list_end,
                                BlockParts& parts) {
  for (size_t i = 0; i < n; ++i) {
    uint32_t exponent = (top - codes[i]) & ((1u << shape.exponent_bits) - 1);
    if (codes[i] == escape) {
      if (list_end - list < 2) return nullptr;
      exponent = load<uint16_t>(list);
      if (exponent >> shape.exponent_bits != 0) return nullptr;
      list += 2;
    }
    parts.exponent[i] = static_cast<uint8_t>(exponent);
    parts.exponent_high[i] = static_cast<uint8_t>(exponent >> 8);
  }
  return list;
}

const uint8_t* read_exponents(const Shape& shape, const Kernels& kernels, const BlockRecord& record,
                              const uint8_t* planes, const uint8_t* list, const uint8_t* list_end,
                              size_t n, BlockParts& parts) {
  const size_t width = record.method() - kMethodWindow;
  if (width == shape.exponent_bits) {
    const size_t low = std::min<size_t>(width, 8);
    kernels.unpack_bits(planes, n, low, parts.exponent);
    kernels.unpack_bits(planes + low * bit_bytes(n), n, width - low, parts.exponent_high);
    return list;
  }
  if (width == 0) {
    std::memset(parts.exponent, record.top & 0xFF, n);
    std::memset(parts.exponent_high, record.top >> 8, n);
    return list;
  }
  const auto room = static_cast<size_t>(list_end - list);
  if (!is_wide(shape)) {
    const auto mask = static_cast<uint8_t>((1u << shape.exponent_bits) - 1);
    const size_t taken = kernels.unpack_window(planes, n, width, static_cast<uint8_t>(record.top),
                                               mask, list, room, parts.exponent);
    return taken <= room ? list + taken : nullptr;
  }
  uint8_t codes[kBlockValues];
  kernels.unpack_bits(planes, n, width, codes);
  const auto escape = static_cast<uint8_t>((1u << width) - 1);
  return read_wide_window(shape, codes, n, record.top, escape, list, list_end, parts);
}

// Out of the streams; returns as read_exponents.
const uint8_t* read_table(const Shape& shape, const Kernels& kernels, const BlockRecord& record,
                          const uint8_t* list, const uint8_t* list_end, StreamReader& streams,
                          BlockParts& parts) {
  const uint8_t* const symbols = streams.symbols;
  streams.symbols += kBlockValues;
  if (is_wide(shape)) {
    list = read_wide_window(shape, symbols, kBlockValues, record.top, kSymbolEscape, list, list_end,
                            parts);
    for (size_t i = 0; i < kBlockValues; ++i)
      if (symbols[i] == kSymbolZero) parts.exponent[i] = parts.exponent_high[i] = 0;
    return list;
  }
  const auto room = static_cast<size_t>(list_end - list);
  const auto mask = static_cast<uint8_t>((1u << shape.exponent_bits) - 1);
  const size_t taken = kernels.from_symbols(symbols, static_cast<uint8_t>(record.top), mask, list,
                                            room, parts.exponent);
  return taken <= room ? list + taken : nullptr;
}

void fill(const Shape& shape, const uint8_t* value, size_t n, void* values) {
  auto* out = static_cast<uint8_t*>(values);
  for (size_t i = 0; i < n; ++i) std::memcpy(out + i * shape.value_bytes, value, shape.value_bytes);
}

}  // namespace

const char* read_block(const Shape& shape, const Kernels& kernels, const BlockRecord& record,
                       std::span<const uint8_t> plane_area, std::span<const uint8_t> list_area,
                       size_t n, StreamReader& streams, BlockParts& parts, void* values) {
  const uint8_t* planes = plane_area.data();
  const uint8_t* list = list_area.data();
  const uint8_t method = record.method();
  if (method == kMethodZero) {
    std::memset(values, 0, n * shape.value_bytes);
    return nullptr;
  }
  if (method == kMethodConstant) {
    fill(shape, list, n, values);
    return nullptr;
  }
  const uint8_t* const list_end = list + list_area.size();
  if (method >= kMethodTable) {
    list = read_table(shape, kernels, record, list, list_end, streams, parts);
  } else {
    const size_t bytes = (method - kMethodWindow) * bit_bytes(n);
    list = read_exponents(shape, kernels, record, planes + plane_area.size() - bytes, list,
                          list_end, n, parts);
  }
  if (list == nullptr) return "a block's list ends too early";
  const bool low_table = record.has_low_table(shape);
  if (low_table) {
    read_low_half(kernels, record.low - kLowTable, streams.low, streams.low_position, parts.room[0],
                  parts.room[1]);
    parts.plane[0] = parts.room[0];
    parts.plane[1] = parts.room[1];
  }
  for (size_t p = low_table ? 2 : 0; p < shape.byte_planes(); ++p) {
    parts.plane[p] = read_plane(kernels, record.plane(p, shape.byte_planes()), planes, list,
                                list_end, n, parts.room[p]);
    if (parts.plane[p] == nullptr) return "a block's list ends too early";
  }
  const auto slack = static_cast<size_t>(list_end - list);
  if (slack >= (list_area.size() == record.list ? 1 : kSparseListUnit))
    return "a block's list is too long";
  kernels.unpack_bits(planes, n, shape.bit_planes(), parts.bits);
  kernels.join(shape, parts, n, values);
  return nullptr;
}

}  // namespace strait::codec
