// The arithmetic of one piece by all threads of a block: out = finish(first op second), the bits of
// the host's combine(), written to up to two places at once: the step's target, and the slot of the
// step's link or what stands for it. Device code, for a whole block; meets at no barrier.
//
// Accesses are of 16 bytes where all places are so aligned, and several are in flight per thread
// where values are narrow on all sides, which is where the bulk goes. The loops are functions of
// their own, so that the interpreter around them takes none of their registers.
#pragma once

#include "exec/cuda/device_call.hpp"
#include "exec/cuda/numbers.cuh"

#define STRAIT_OWN_LOOP __attribute__((noinline))

namespace strait::gpu {

// Elements of the type ("narrow"), or partial sums ("wide").
struct Operand {
  const unsigned char* data = nullptr;  // null: absent
  bool wide = false;
  bool scaled = false;
};

struct Outputs {
  unsigned char* target = nullptr;  // null: none
  bool target_wide = false;
  unsigned char* slot = nullptr;  // narrow; null: none
};

template <class N>
struct Arithmetic {
  DeviceOperation operation;
  typename N::Value factor;
  uint64_t divisor;  // 1: nothing to divide
};

// What 16 bytes of narrow elements are, in registers.
template <class N>
struct Vector {
  static constexpr int kCount = 16 / sizeof(typename N::Narrow);
  typename N::Value values[kCount];
};

template <class N>
__device__ __forceinline__ Vector<N> unpack(const uint4& raw) {
  typename N::Narrow narrow[Vector<N>::kCount];
  memcpy(narrow, &raw, sizeof raw);
  Vector<N> vector;
#pragma unroll
  for (int i = 0; i < Vector<N>::kCount; ++i) vector.values[i] = N::read(narrow[i]);
  return vector;
}

template <class N>
__device__ __forceinline__ uint4 pack(const Vector<N>& vector) {
  typename N::Narrow narrow[Vector<N>::kCount];
#pragma unroll
  for (int i = 0; i < Vector<N>::kCount; ++i) narrow[i] = N::write(vector.values[i]);
  uint4 raw;
  memcpy(&raw, narrow, sizeof raw);
  return raw;
}

template <class N>
__device__ __forceinline__ typename N::Value apply(DeviceOperation operation, typename N::Value a,
                                                   typename N::Value b) {
  switch (operation) {
    case DeviceOperation::kProd:
      return N::prod(a, b);
    case DeviceOperation::kMax:
      return N::max(a, b);
    case DeviceOperation::kMin:
      return N::min(a, b);
    case DeviceOperation::kSum:
      break;
  }
  return N::sum(a, b);
}

// A scaled narrow value is rounded to its type before anything else, here as on its way to a peer.
template <class N>
__device__ __forceinline__ typename N::Value scale(typename N::Value value,
                                                   typename N::Value factor) {
  const typename N::Value product = N::prod(value, factor);
  if constexpr (N::kHasWideForm)
    return N::read(N::write(product));
  else
    return product;
}

// ---- One element at a time: any alignment, any forms ------------------------------------------

template <class N>
__device__ __forceinline__ typename N::Value read_element(const Operand& operand, uint64_t index,
                                                          typename N::Value factor) {
  typename N::Value value;
  if (N::kHasWideForm && operand.wide)
    value = reinterpret_cast<const typename N::Value*>(operand.data)[index];
  else
    value = N::read(reinterpret_cast<const typename N::Narrow*>(operand.data)[index]);
  return operand.scaled ? scale<N>(value, factor) : value;
}

template <class N>
__device__ __forceinline__ void write_element(const Outputs& out, uint64_t index,
                                              typename N::Value value) {
  if (out.target != nullptr) {
    if (N::kHasWideForm && out.target_wide)
      reinterpret_cast<typename N::Value*>(out.target)[index] = N::with_one_nan(value);
    else
      reinterpret_cast<typename N::Narrow*>(out.target)[index] = N::write(value);
  }
  if (out.slot != nullptr) reinterpret_cast<typename N::Narrow*>(out.slot)[index] = N::write(value);
}

template <class N>
__device__ STRAIT_OWN_LOOP void combine_elements(const Arithmetic<N>& arithmetic,
                                                 const Outputs& out, const Operand& first,
                                                 const Operand& second, uint64_t begin,
                                                 uint64_t count) {
#pragma unroll 1
  for (uint64_t i = begin + threadIdx.x; i < count; i += blockDim.x) {
    typename N::Value value = read_element<N>(first, i, arithmetic.factor);
    if (second.data != nullptr)
      value = apply<N>(arithmetic.operation, value, read_element<N>(second, i, arithmetic.factor));
    if (arithmetic.divisor != 1) value = N::divide(value, arithmetic.divisor);
    write_element<N>(out, i, value);
  }
}

// ---- Sixteen bytes at a time: everything narrow, nothing divided ------------------------------

template <class N, DeviceOperation kOperation>
__device__ __forceinline__ uint4 combine_raw(typename N::Value factor, const uint4& first,
                                             const uint4& second, bool scale_first,
                                             bool scale_second) {
  Vector<N> a = unpack<N>(first);
  const Vector<N> b = unpack<N>(second);
#pragma unroll
  for (int i = 0; i < Vector<N>::kCount; ++i) {
    typename N::Value x = a.values[i], y = b.values[i];
    if (kOperation == DeviceOperation::kSum && scale_first) x = scale<N>(x, factor);
    if (kOperation == DeviceOperation::kSum && scale_second) y = scale<N>(y, factor);
    a.values[i] = apply<N>(kOperation, x, y);
  }
  return pack<N>(a);
}

// A warp's vectors lie side by side, so that its accesses are a constant apart.
struct VectorWalk {
  __device__ explicit VectorWalk(uint64_t bytes) : whole(bytes & ~uint64_t{15}) {}

  // Calls bulk(offset) for every kInFlight vectors of this thread's, 512 bytes apart from the
  // offset on, and one(offset) for each vector that is left.
  template <int kInFlight, class Bulk, class One>
  __device__ __forceinline__ void run(Bulk bulk, One one) const {
    constexpr uint32_t kWarpBytes = kInFlight * 512;
    const uint64_t bulk_bytes = whole - whole % kWarpBytes;
    const uint32_t mine = threadIdx.x / 32 * kWarpBytes + threadIdx.x % 32 * 16;
#pragma unroll 1
    for (uint64_t at = mine; at < bulk_bytes; at += blockDim.x / 32 * kWarpBytes) bulk(at);
#pragma unroll 1
    for (uint64_t at = bulk_bytes + threadIdx.x * 16; at < whole; at += blockDim.x * 16) one(at);
  }

  uint64_t whole;
};

__device__ __forceinline__ void store_vector(const Outputs& out, uint64_t at, const uint4& value) {
  if (out.target != nullptr) device::store16(out.target + at, value);
  if (out.slot != nullptr) device::store16(out.slot + at, value);
}

// Returns how many elements are done. By value: what is behind a reference would be read again
// after every store.
template <class N, DeviceOperation kOperation>
__device__ STRAIT_OWN_LOOP uint64_t combine_vectors(typename N::Value factor, Outputs out,
                                                    Operand first, Operand second, uint64_t count) {
  // Registers: narrow values take up to four times the room once they are read, and code.
  constexpr size_t kSize = sizeof(typename N::Narrow);
  constexpr int kInFlight = kSize >= 4 ? 4 : N::kIsFloat && kSize == 1 ? 1 : 2;
  const VectorWalk walk(count * sizeof(typename N::Narrow));
  const auto combined = [&](const uint4& a, const uint4& b) {
    return combine_raw<N, kOperation>(factor, a, b, first.scaled, second.scaled);
  };
  walk.template run<kInFlight>(
      [&](uint64_t at) {
        uint4 a[kInFlight], b[kInFlight];
#pragma unroll
        for (int i = 0; i < kInFlight; ++i) a[i] = device::load16(first.data + at + i * 512);
#pragma unroll
        for (int i = 0; i < kInFlight; ++i) b[i] = device::load16(second.data + at + i * 512);
#pragma unroll
        for (int i = 0; i < kInFlight; ++i) store_vector(out, at + i * 512, combined(a[i], b[i]));
      },
      [&](uint64_t at) {
        store_vector(out, at,
                     combined(device::load16(first.data + at), device::load16(second.data + at)));
      });
  return walk.whole / sizeof(typename N::Narrow);
}

// The bytes as they are.
__device__ STRAIT_OWN_LOOP inline uint64_t copy_vectors(Outputs out, const unsigned char* from,
                                                        uint64_t bytes) {
  constexpr int kInFlight = 8;
  const VectorWalk walk(bytes);
  walk.run<kInFlight>(
      [&](uint64_t at) {
        uint4 values[kInFlight];
#pragma unroll
        for (int i = 0; i < kInFlight; ++i) values[i] = device::load16(from + at + i * 512);
#pragma unroll
        for (int i = 0; i < kInFlight; ++i) store_vector(out, at + i * 512, values[i]);
      },
      [&](uint64_t at) { store_vector(out, at, device::load16(from + at)); });
  return walk.whole;
}

template <class N>
__device__ void copy_narrow(const Outputs& out, const unsigned char* from, uint64_t count,
                            bool aligned) {
  using Narrow = typename N::Narrow;
  const uint64_t done =
      aligned ? copy_vectors(out, from, count * sizeof(Narrow)) / sizeof(Narrow) : 0;
#pragma unroll 1
  for (uint64_t i = done + threadIdx.x; i < count; i += blockDim.x) {
    const Narrow value = reinterpret_cast<const Narrow*>(from)[i];
    if (out.target != nullptr) reinterpret_cast<Narrow*>(out.target)[i] = value;
    if (out.slot != nullptr) reinterpret_cast<Narrow*>(out.slot)[i] = value;
  }
}

// ---- The front door ---------------------------------------------------------------------------

__device__ inline bool aligned16(const void* a, const void* b, const void* c, const void* d) {
  return ((reinterpret_cast<uintptr_t>(a) | reinterpret_cast<uintptr_t>(b) |
           reinterpret_cast<uintptr_t>(c) | reinterpret_cast<uintptr_t>(d)) &
          15) == 0;
}

template <class N>
__device__ void combine(const Arithmetic<N>& arithmetic, const Outputs& out, const Operand& first,
                        const Operand& second, uint64_t count) {
  const bool aligned = aligned16(out.target, out.slot, first.data, second.data);
  const bool narrow = !N::kHasWideForm ||
                      !((out.target != nullptr && out.target_wide) || first.wide || second.wide);
  const bool divides = !N::kIsFloat && arithmetic.divisor != 1;
  if (second.data == nullptr && narrow && !first.scaled && !divides) {
    copy_narrow<N>(out, first.data, count, aligned);
    return;
  }
  uint64_t done = 0;
  if (second.data != nullptr && narrow && aligned && !divides) {
    switch (arithmetic.operation) {
      case DeviceOperation::kSum:
        done =
            combine_vectors<N, DeviceOperation::kSum>(arithmetic.factor, out, first, second, count);
        break;
      case DeviceOperation::kProd:
        done = combine_vectors<N, DeviceOperation::kProd>(arithmetic.factor, out, first, second,
                                                          count);
        break;
      case DeviceOperation::kMax:
        done =
            combine_vectors<N, DeviceOperation::kMax>(arithmetic.factor, out, first, second, count);
        break;
      case DeviceOperation::kMin:
        done =
            combine_vectors<N, DeviceOperation::kMin>(arithmetic.factor, out, first, second, count);
        break;
    }
  }
  combine_elements<N>(arithmetic, out, first, second, done, count);
}

}  // namespace strait::gpu
