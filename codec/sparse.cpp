#include "codec/sparse.hpp"

#include <cstring>

namespace strait::codec {
namespace {

// Half a byte of every byte, as bytes; the half's bits are at `shift`.
void write_halves(const Kernels& kernels, const uint8_t* bytes, size_t n, int shift,
                  uint8_t*& planes, uint8_t*& list) {
  uint8_t halves[kBlockValues];
  uint8_t taken[kBlockValues + kListSlack];
  for (size_t i = 0; i < n; ++i) halves[i] = (bytes[i] >> shift) & 15;
  const size_t count = kernels.pack_nonzero(halves, n, planes, taken);
  taken[count] = 0;
  for (size_t i = 0; i < count; i += 2)
    *list++ = static_cast<uint8_t>(taken[i] | taken[i + 1] << 4);
  planes += bit_bytes(n);
}

bool read_halves(const Kernels& kernels, int shift, const uint8_t*& planes, const uint8_t*& list,
                 const uint8_t* list_end, size_t n, uint8_t* bytes) {
  uint8_t halves[kBlockValues];
  uint8_t given[2 * kBlockValues];
  size_t pairs = static_cast<size_t>(list_end - list);
  if (pairs > kBlockValues / 2) pairs = kBlockValues / 2;
  for (size_t i = 0; i < pairs; ++i) {
    given[2 * i] = list[i] & 15;
    given[2 * i + 1] = list[i] >> 4;
  }
  const size_t taken = kernels.unpack_nonzero(planes, n, given, 2 * pairs, halves);
  if (taken > 2 * pairs) return false;
  for (size_t i = 0; i < n; ++i) bytes[i] = static_cast<uint8_t>(bytes[i] | halves[i] << shift);
  planes += bit_bytes(n);
  list += (taken + 1) / 2;
  return true;
}

}  // namespace

PlaneCost choose_plane(const Kernels& kernels, const uint8_t* bytes, size_t n) {
  PlaneCost best = {PlaneMode::kFull, n, 0};
  if (n == kBlockValues) {
    const size_t sampled = kernels.count_zeros(bytes, kSampleValues, 0xFF) +
                           kernels.count_zeros(bytes + n / 2, kSampleValues, 0xFF);
    if (sampled < kSampledZeros) return best;
  }
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

void write_plane(const Kernels& kernels, PlaneMode mode, const uint8_t* bytes, size_t n,
                 uint8_t*& planes, uint8_t*& list) {
  switch (mode) {
    case PlaneMode::kZero:
      return;
    case PlaneMode::kFull:
      if (bytes != planes) std::memcpy(planes, bytes, n);
      planes += n;
      return;
    case PlaneMode::kSparse:
      list += kernels.pack_nonzero(bytes, n, planes, list);
      planes += bit_bytes(n);
      return;
    case PlaneMode::kNibbles:
      write_halves(kernels, bytes, n, 0, planes, list);
      write_halves(kernels, bytes, n, 4, planes, list);
      return;
  }
}

const uint8_t* read_plane(const Kernels& kernels, PlaneMode mode, const uint8_t*& planes,
                          const uint8_t*& list, const uint8_t* list_end, size_t n, uint8_t* room) {
  if (mode == PlaneMode::kFull) {
    planes += n;
    return planes - n;
  }
  if (mode == PlaneMode::kSparse) {
    const auto left = static_cast<size_t>(list_end - list);
    const size_t taken = kernels.unpack_nonzero(planes, n, list, left, room);
    planes += bit_bytes(n);
    list += taken <= left ? taken : 0;
    return taken <= left ? room : nullptr;
  }
  std::memset(room, 0, n);
  const bool whole =
      mode == PlaneMode::kZero || (read_halves(kernels, 0, planes, list, list_end, n, room) &&
                                   read_halves(kernels, 4, planes, list, list_end, n, room));
  return whole ? room : nullptr;
}

}  // namespace strait::codec
