#include "codec/block.hpp"

#include <algorithm>
#include <cstring>

#include "codec/bytes.hpp"
#include "codec/choose.hpp"
#include "codec/sparse.hpp"

namespace strait::codec {
namespace {

bool is_wide(const Shape& shape) {
  return shape.exponent_bits > 8;
}

uint32_t full_exponent(const BlockParts& parts, size_t i) {
  return parts.exponent[i] | uint32_t{parts.exponent_high[i]} << 8;
}

bool has_sparse(const Shape& shape, const BlockRecord& record) {
  for (size_t p = 0; p < shape.byte_planes(); ++p)
    if (record.plane(p, shape.byte_planes()) >= PlaneMode::kSparse) return true;
  return false;
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

bool all_equal(const void* values, size_t value_bytes, size_t n) {
  const auto* bytes = static_cast<const std::byte*>(values);
  if (n > 1 && std::memcmp(bytes, bytes + value_bytes, value_bytes) != 0) return false;
  return std::memcmp(bytes, bytes + value_bytes, (n - 1) * value_bytes) == 0;
}

BlockChoice constant_choice(const Shape& shape, const void* values) {
  constexpr std::byte kNothing[8] = {};
  BlockChoice choice;
  if (std::memcmp(values, kNothing, shape.value_bytes) == 0) return choice;
  choice.record.kind = kMethodConstant;
  choice.record.list = shape.value_bytes;
  choice.list_bytes = shape.value_bytes;
  return choice;
}

}  // namespace

size_t plane_bytes_of(const Shape& shape, const BlockRecord& record, size_t n) {
  const uint8_t method = record.method();
  if (method < kMethodWindow) return 0;
  const size_t bits = bit_bytes(n);
  size_t bytes = shape.bit_planes() * bits;
  for (size_t p = 0; p < shape.byte_planes(); ++p) switch (record.plane(p, shape.byte_planes())) {
      case PlaneMode::kZero:
        break;
      case PlaneMode::kFull:
        bytes += n;
        break;
      case PlaneMode::kSparse:
        bytes += bits;
        break;
      case PlaneMode::kNibbles:
        bytes += 2 * bits;
        break;
    }
  if (method < kMethodTable) bytes += (method - kMethodWindow) * bits;
  return bytes;
}

size_t list_bytes_of(const Shape& shape, const BlockRecord& record) {
  return record.list * (has_sparse(shape, record) ? size_t{8} : 1);
}

const char* check_record(const Shape& shape, const BlockRecord& record) {
  const uint8_t method = record.method();
  if (method < kMethodWindow) {
    const bool plain = (record.kind >> 6) == 0 && record.low == 0;
    const size_t list = method == kMethodConstant ? shape.value_bytes : 0;
    return plain && record.list == list ? nullptr : "a constant block has more than its value";
  }
  if (method >= kMethodTable || method - kMethodWindow > shape.exponent_bits)
    return "a block's method is not known here";
  const size_t low_planes = shape.byte_planes() == 0 ? 0 : shape.byte_planes() - 1;
  if ((shape.byte_planes() == 0 && (record.kind >> 6) != 0) || record.low >> (2 * low_planes) != 0)
    return "a block describes planes that its type does not have";
  return nullptr;
}

BlockChoice choose_block(const Shape& shape, const Kernels& kernels, const void* values, size_t n,
                         BlockParts& parts) {
  if (all_equal(values, shape.value_bytes, n)) return constant_choice(shape, values);
  kernels.split(shape, values, n, parts);
  uint8_t narrowed[kBlockValues];
  const uint8_t* bytes = parts.exponent;
  uint32_t offset = 0;
  if (is_wide(shape)) {
    offset = narrow(parts, n, narrowed);
    bytes = narrowed;
  }
  const Window window = choose_window(shape, kernels, bytes, offset > 0, n);

  BlockChoice choice;
  BlockRecord& record = choice.record;
  record.kind = static_cast<uint8_t>(kMethodWindow + window.width);
  if (window.width < shape.exponent_bits) record.top = static_cast<uint16_t>(window.top + offset);
  size_t list_bytes = window.escapes * shape.top_bytes();
  bool sparse = false;
  for (size_t p = shape.byte_planes(); p-- > 0;) {
    PlaneCost cost = choose_plane(kernels, parts.plane[p], n);
    if (list_bytes + cost.list_bytes > kMaxListBytes) cost = {PlaneMode::kFull, n, 0};
    set_plane_mode(record, p, shape.byte_planes(), cost.mode);
    list_bytes += cost.list_bytes;
    sparse = sparse || cost.mode >= PlaneMode::kSparse;
  }
  choice.list_bytes = sparse ? round_up(list_bytes, 8) : list_bytes;
  record.list = static_cast<uint8_t>(sparse ? choice.list_bytes / 8 : list_bytes);
  choice.plane_bytes = plane_bytes_of(shape, record, n);
  return choice;
}

namespace {

uint8_t* write_exponents(const Shape& shape, const Kernels& kernels, const BlockParts& parts,
                         const BlockRecord& record, size_t n, uint8_t* planes, uint8_t* list) {
  const size_t width = record.method() - kMethodWindow;
  if (width == 0) return list;
  if (width == shape.exponent_bits) {
    const size_t low = std::min<size_t>(width, 8);
    kernels.pack_bits(parts.exponent, n, low, planes);
    kernels.pack_bits(parts.exponent_high, n, width - low, planes + low * bit_bytes(n));
    return list;
  }
  if (!is_wide(shape))
    return list + kernels.pack_window(parts.exponent, n, width, static_cast<uint8_t>(record.top),
                                      planes, list);
  uint8_t codes[kBlockValues];
  const uint32_t escape = (1u << width) - 1;
  for (size_t i = 0; i < n; ++i) {
    const uint32_t exponent = full_exponent(parts, i);
    const uint32_t below = (record.top - exponent) & ((1u << shape.exponent_bits) - 1);
    codes[i] = static_cast<uint8_t>(std::min(below, escape));
    if (codes[i] != escape) continue;
    store<uint16_t>(list, static_cast<uint16_t>(exponent));
    list += 2;
  }
  kernels.pack_bits(codes, n, width, planes);
  return list;
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

void fill(const Shape& shape, const uint8_t* value, size_t n, void* values) {
  auto* out = static_cast<uint8_t*>(values);
  for (size_t i = 0; i < n; ++i) std::memcpy(out + i * shape.value_bytes, value, shape.value_bytes);
}

}  // namespace

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
  const size_t exponent_bytes = (record.method() - kMethodWindow) * bit_bytes(n);
  uint8_t* const exponents = planes + choice.plane_bytes - exponent_bytes;
  list = write_exponents(shape, kernels, parts, record, n, exponents, list);
  for (size_t p = 0; p < shape.byte_planes(); ++p)
    write_plane(kernels, record.plane(p, shape.byte_planes()), parts.plane[p], n, planes, list);
  kernels.pack_bits(parts.bits, n, shape.bit_planes(), planes);
  std::memset(list, 0, static_cast<size_t>(list_end - list));
}

const char* read_block(const Shape& shape, const Kernels& kernels, const BlockRecord& record,
                       const uint8_t* planes, const uint8_t* list, size_t n, BlockParts& parts,
                       void* values) {
  if (record.method() == kMethodZero) {
    std::memset(values, 0, n * shape.value_bytes);
    return nullptr;
  }
  if (record.method() == kMethodConstant) {
    fill(shape, list, n, values);
    return nullptr;
  }
  const uint8_t* const list_end = list + list_bytes_of(shape, record);
  const size_t exponent_bytes = (record.method() - kMethodWindow) * bit_bytes(n);
  const uint8_t* const exponents = planes + plane_bytes_of(shape, record, n) - exponent_bytes;
  list = read_exponents(shape, kernels, record, exponents, list, list_end, n, parts);
  if (list == nullptr) return "a block's list ends too early";
  for (size_t p = 0; p < shape.byte_planes(); ++p)
    if (!read_plane(kernels, record.plane(p, shape.byte_planes()), planes, list, list_end, n,
                    parts.plane[p]))
      return "a block's list ends too early";
  const auto slack = static_cast<size_t>(list_end - list);
  if (slack >= (has_sparse(shape, record) ? 8u : 1u)) return "a block's list is too long";
  kernels.unpack_bits(planes, n, shape.bit_planes(), parts.bits);
  kernels.join(shape, parts, n, values);
  return nullptr;
}

}  // namespace strait::codec
