#include "codec/sparse.hpp"

#include <cstring>

namespace strait::codec {
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
      for (int shift : {0, 4}) {
        list += kernels.pack_halves(bytes, n, shift, planes, list);
        planes += bit_bytes(n);
      }
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
  if (mode == PlaneMode::kZero) return room;
  for (int shift : {0, 4}) {
    const auto left = static_cast<size_t>(list_end - list);
    const size_t taken = kernels.unpack_halves(planes, n, shift, list, left, room);
    if (taken > left) return nullptr;
    planes += bit_bytes(n);
    list += taken;
  }
  return room;
}

}  // namespace strait::codec
