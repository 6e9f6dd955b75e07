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
  for (uint64_t i = begin + threadIdx.x; i < count; i += blockDim.x) {
    typename N::Value value = read_element<N>(first, i, arithmetic.factor);
    if (second.data != nullptr)
      value = apply<N>(arithmetic.operation, value, read_element<N>(second, i, arithmetic.factor));
    if (arithmetic.divisor != 1) value = N::divide(value, arithmetic.divisor);
    write_element<N>(out, i, value);
  }
}

// ---- Sixteen bytes at a time: everything narrow -----------------------------------------------

template <class N, DeviceOperation kOperation>
__device__ __forceinline__ uint4 combine_raw(const Arithmetic<N>& arithmetic, const uint4& first,
                                             const uint4& second, bool scale_first,
                                             bool scale_second) {
  Vector<N> a = unpack<N>(first);
  const Vector<N> b = unpack<N>(second);
#pragma unroll
  for (int i = 0; i < Vector<N>::kCount; ++i) {
    typename N::Value x = a.values[i], y = b.values[i];
    if (kOperation == DeviceOperation::kSum && scale_first) x = scale<N>(x, arithmetic.factor);
    if (kOperation == DeviceOperation::kSum && scale_second) y = scale<N>(y, arithmetic.factor);
    x = apply<N>(kOperation, x, y);
    if (!N::kIsFloat && arithmetic.divisor != 1) x = N::divide(x, arithmetic.divisor);
    a.values[i] = x;
  }
  return pack<N>(a);
}

// Returns how many elements are done.
template <class N, DeviceOperation kOperation>
__device__ STRAIT_OWN_LOOP uint64_t combine_vectors(const Arithmetic<N>& arithmetic,
                                                    const Outputs& out, const Operand& first,
                                                    const Operand& second, uint64_t count) {
  // Registers: narrow values take up to four times the room once they are read.
  constexpr int kInFlight = sizeof(typename N::Narrow) >= 4 ? 4 : 2;
  const uint64_t vectors = count / Vector<N>::kCount;
  uint64_t at = threadIdx.x;
  for (; at + (kInFlight - 1) * uint64_t{blockDim.x} < vectors; at += kInFlight * blockDim.x) {
    uint4 a[kInFlight], b[kInFlight];
#pragma unroll
    for (int i = 0; i < kInFlight; ++i)
      a[i] = device::load16(first.data + (at + i * blockDim.x) * 16);
#pragma unroll
    for (int i = 0; i < kInFlight; ++i)
      b[i] = device::load16(second.data + (at + i * blockDim.x) * 16);
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      const uint4 value =
          combine_raw<N, kOperation>(arithmetic, a[i], b[i], first.scaled, second.scaled);
      if (out.target != nullptr) device::store16(out.target + (at + i * blockDim.x) * 16, value);
      if (out.slot != nullptr) device::store16(out.slot + (at + i * blockDim.x) * 16, value);
    }
  }
  for (; at < vectors; at += blockDim.x) {
    const uint4 value = combine_raw<N, kOperation>(arithmetic, device::load16(first.data + at * 16),
                                                   device::load16(second.data + at * 16),
                                                   first.scaled, second.scaled);
    if (out.target != nullptr) device::store16(out.target + at * 16, value);
    if (out.slot != nullptr) device::store16(out.slot + at * 16, value);
  }
  return vectors * Vector<N>::kCount;
}

// The bytes as they are.
__device__ STRAIT_OWN_LOOP inline uint64_t copy_vectors(const Outputs& out,
                                                        const unsigned char* from, uint64_t bytes) {
  constexpr int kInFlight = 8;
  const uint64_t vectors = bytes / 16;
  uint64_t at = threadIdx.x;
  for (; at + (kInFlight - 1) * uint64_t{blockDim.x} < vectors; at += kInFlight * blockDim.x) {
    uint4 values[kInFlight];
#pragma unroll
    for (int i = 0; i < kInFlight; ++i)
      values[i] = device::load16(from + (at + i * blockDim.x) * 16);
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      if (out.target != nullptr)
        device::store16(out.target + (at + i * blockDim.x) * 16, values[i]);
      if (out.slot != nullptr) device::store16(out.slot + (at + i * blockDim.x) * 16, values[i]);
    }
  }
  for (; at < vectors; at += blockDim.x) {
    const uint4 value = device::load16(from + at * 16);
    if (out.target != nullptr) device::store16(out.target + at * 16, value);
    if (out.slot != nullptr) device::store16(out.slot + at * 16, value);
  }
  return vectors * 16;
}

template <class N>
__device__ void copy_narrow(const Outputs& out, const unsigned char* from, uint64_t count,
                            bool aligned) {
  using Narrow = typename N::Narrow;
  const uint64_t done =
      aligned ? copy_vectors(out, from, count * sizeof(Narrow)) / sizeof(Narrow) : 0;
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
  if (second.data != nullptr && narrow && aligned) {
    switch (arithmetic.operation) {
      case DeviceOperation::kSum:
        done = combine_vectors<N, DeviceOperation::kSum>(arithmetic, out, first, second, count);
        break;
      case DeviceOperation::kProd:
        done = combine_vectors<N, DeviceOperation::kProd>(arithmetic, out, first, second, count);
        break;
      case DeviceOperation::kMax:
        done = combine_vectors<N, DeviceOperation::kMax>(arithmetic, out, first, second, count);
        break;
      case DeviceOperation::kMin:
        done = combine_vectors<N, DeviceOperation::kMin>(arithmetic, out, first, second, count);
        break;
    }
  }
  combine_elements<N>(arithmetic, out, first, second, done, count);
}

}  // namespace strait::gpu
