#include "codec/sparse.hpp"

#include <algorithm>
#include <cstring>

namespace strait::codec {
namespace {

// A plane of random bytes has n / 256 zeros; one with a zero half often has n / 16.
constexpr size_t kFewZeros = 32;

template <class IsSet>
void write_bits(size_t n, uint8_t*& planes, const IsSet& is_set) {
  std::memset(planes, 0, bit_bytes(n));
  for (size_t i = 0; i < n; ++i)
    planes[i / 8] = static_cast<uint8_t>(planes[i / 8] | (is_set(i) ? 1u << (i % 8) : 0));
  planes += bit_bytes(n);
}

bool bit_at(const uint8_t* bits, size_t i) {
  return (bits[i / 8] >> (i % 8)) & 1;
}

void write_halves(const uint8_t* bytes, size_t n, int shift, uint8_t*& planes, uint8_t*& list) {
  const auto half = [&](size_t i) { return (bytes[i] >> shift) & 15; };
  write_bits(n, planes, [&](size_t i) { return half(i) != 0; });
  size_t taken = 0;
  for (size_t i = 0; i < n; ++i) {
    if (half(i) == 0) continue;
    if (taken % 2 == 0)
      *list = static_cast<uint8_t>(half(i));
    else
      *list++ |= static_cast<uint8_t>(half(i) << 4);
    ++taken;
  }
  list += taken % 2;
}

bool read_halves(int shift, const uint8_t*& planes, const uint8_t*& list, const uint8_t* list_end,
                 size_t n, uint8_t* bytes) {
  size_t taken = 0;
  const auto room = 2 * static_cast<size_t>(list_end - list);
  for (size_t i = 0; i < n; ++i) {
    if (!bit_at(planes, i)) continue;
    if (taken == room) return false;
    const int half = (list[taken / 2] >> (4 * (taken % 2))) & 15;
    bytes[i] = static_cast<uint8_t>(bytes[i] | half << shift);
    ++taken;
  }
  planes += bit_bytes(n);
  list += (taken + 1) / 2;
  return true;
}

}  // namespace

PlaneCost choose_plane(const Kernels& kernels, const uint8_t* bytes, size_t n) {
  PlaneCost best = {PlaneMode::kFull, n, 0};
  const size_t zeros = kernels.count_zeros(bytes, n, 0xFF);
  if (zeros == n) return {PlaneMode::kZero, 0, 0};
  if (zeros < n / kFewZeros) return best;
  const size_t bits = bit_bytes(n);
  const auto total = [](const PlaneCost& cost) { return cost.plane_bytes + cost.list_bytes; };
  const PlaneCost sparse = {PlaneMode::kSparse, bits, n - zeros};
  if (total(sparse) < total(best)) best = sparse;
  const size_t low = n - kernels.count_zeros(bytes, n, 0x0F);
  const size_t high = n - kernels.count_zeros(bytes, n, 0xF0);
  const PlaneCost nibbles = {PlaneMode::kNibbles, 2 * bits, (low + 1) / 2 + (high + 1) / 2};
  if (total(nibbles) < total(best)) best = nibbles;
  return best;
}

void write_plane(PlaneMode mode, const uint8_t* bytes, size_t n, uint8_t*& planes, uint8_t*& list) {
  switch (mode) {
    case PlaneMode::kZero:
      return;
    case PlaneMode::kFull:
      std::memcpy(planes, bytes, n);
      planes += n;
      return;
    case PlaneMode::kSparse:
      write_bits(n, planes, [&](size_t i) { return bytes[i] != 0; });
      for (size_t i = 0; i < n; ++i)
        if (bytes[i] != 0) *list++ = bytes[i];
      return;
    case PlaneMode::kNibbles:
      write_halves(bytes, n, 0, planes, list);
      write_halves(bytes, n, 4, planes, list);
      return;
  }
}

bool read_plane(PlaneMode mode, const uint8_t*& planes, const uint8_t*& list,
                const uint8_t* list_end, size_t n, uint8_t* bytes) {
  if (mode == PlaneMode::kFull) {
    std::memcpy(bytes, planes, n);
    planes += n;
    return true;
  }
  std::memset(bytes, 0, n);
  if (mode == PlaneMode::kZero) return true;
  if (mode == PlaneMode::kNibbles)
    return read_halves(0, planes, list, list_end, n, bytes) &&
           read_halves(4, planes, list, list_end, n, bytes);
  for (size_t i = 0; i < n; ++i) {
    if (!bit_at(planes, i)) continue;
    if (list == list_end) return false;
    bytes[i] = *list++;
  }
  planes += bit_bytes(n);
  return true;
}

}  // namespace strait::codec
