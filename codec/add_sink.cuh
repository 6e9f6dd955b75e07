// Adds decoded values to those in memory, with the bits of the host's reductions: bfloat16 and half
// are added in fp32 and rounded once, to nearest even, and NaNs are written with all bits but the
// sign set. Device code; every lane of a warp calls together; four instructions for a bfloat16.
#pragma once

#include "codec/values.cuh"

namespace strait::codec::gpu {

template <class To, class From>
__device__ __forceinline__ To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

__device__ __forceinline__ float add(float a, float b) {
  const float sum = a + b;
  return sum != sum ? bits_as<float>(0x7FFFFFFFu) : sum;
}
__device__ __forceinline__ double add(double a, double b) {
  const double sum = a + b;
  return sum != sum ? bits_as<double>(~uint64_t{0} >> 1) : sum;
}

__device__ __forceinline__ float from_half(uint32_t bits) {
#if defined(STRAIT_SIMT)
  return static_cast<float>(bits_as<_Float16>(static_cast<uint16_t>(bits)));
#else
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(static_cast<uint16_t>(bits)));
  return value;
#endif
}
// NaN becomes 0x7FFF.
__device__ __forceinline__ uint32_t to_half(float value) {
#if defined(STRAIT_SIMT)
  return value != value ? 0x7FFF : bits_as<uint16_t>(static_cast<_Float16>(value));
#else
  uint16_t bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
#endif
}

__device__ __forceinline__ float from_bfloat(uint32_t bits) {
  return bits_as<float>(bits << 16);
}
// To the upper half of a word. NaN becomes 0x7FFF.
__device__ __forceinline__ uint32_t to_bfloat(float value) {
  const auto bits = bits_as<uint32_t>(value);
  return value != value ? 0x7FFF0000u : bits + 0x7FFF + (bits >> 16 & 1);
}

// The sums of a row's values, as their words.
template <DataType kType>
struct RowSum;

template <>
struct RowSum<DataType::kBfloat16> {
  static __device__ __forceinline__ void add_to(uint32_t (&row)[2], const uint32_t (&own)[2]) {
#pragma unroll
    for (int w = 0; w < 2; ++w) {
      const uint32_t low = to_bfloat(add(from_bfloat(own[w]), from_bfloat(row[w])));
      const uint32_t high = to_bfloat(
          add(bits_as<float>(own[w] & 0xFFFF0000u), bits_as<float>(row[w] & 0xFFFF0000u)));
      row[w] = __byte_perm(low, high, 0x7632);
    }
  }
};
template <>
struct RowSum<DataType::kFloat16> {
  static __device__ __forceinline__ void add_to(uint32_t (&row)[2], const uint32_t (&own)[2]) {
#pragma unroll
    for (int w = 0; w < 2; ++w)
      row[w] = to_half(add(from_half(own[w] & 0xFFFF), from_half(row[w] & 0xFFFF))) |
               to_half(add(from_half(own[w] >> 16), from_half(row[w] >> 16))) << 16;
  }
};
template <>
struct RowSum<DataType::kFloat32> {
  static __device__ __forceinline__ void add_to(uint32_t (&row)[4], const uint32_t (&own)[4]) {
#pragma unroll
    for (int w = 0; w < 4; ++w)
      row[w] = bits_as<uint32_t>(add(bits_as<float>(own[w]), bits_as<float>(row[w])));
  }
};
template <>
struct RowSum<DataType::kFloat64> {
  static __device__ __forceinline__ void add_to(uint32_t (&row)[8], const uint32_t (&own)[8]) {
#pragma unroll
    for (int w = 0; w < 8; w += 2) {
      const auto sum = bits_as<uint64_t>(add(bits_as<double>(own[w] | uint64_t{own[w + 1]} << 32),
                                             bits_as<double>(row[w] | uint64_t{row[w + 1]} << 32)));
      row[w] = static_cast<uint32_t>(sum);
      row[w + 1] = static_cast<uint32_t>(sum >> 32);
    }
  }
};

template <DataType kType>
class AddSink {
 public:
  static constexpr int kBytes = shape_of(kType).value_bytes;

  __device__ explicit AddSink(void* values) : source_(values), sink_(values) {}

  template <bool kFull>
  __device__ __forceinline__ void write(uint32_t first, uint32_t n,
                                        const Block<kBytes>& block) const {
    Block<kBytes> own, sums = block;
    source_.template read<kFull>(first, n, own);
#pragma unroll
    for (int r = 0; r < kBlockRowsInt; ++r) RowSum<kType>::add_to(sums.word[r], own.word[r]);
    sink_.template write<kFull>(first, n, sums);
  }

 private:
  MemorySource<kBytes> source_;
  MemorySink<kBytes> sink_;
};

// Values in memory plus those of another source.
template <DataType kType, class Source>
class AddSource {
 public:
  static constexpr int kBytes = shape_of(kType).value_bytes;

  __device__ AddSource(const void* values, Source& source) : own_(values), source_(source) {}

  template <bool kFull>
  __device__ __forceinline__ void read(uint32_t first, uint32_t n, Block<kBytes>& block) {
    Block<kBytes> own;
    own_.template read<kFull>(first, n, own);
    source_.template read<kFull>(first, n, block);
#pragma unroll
    for (int r = 0; r < kBlockRowsInt; ++r) RowSum<kType>::add_to(block.word[r], own.word[r]);
  }

 private:
  MemorySource<kBytes> own_;
  Source& source_;
};

}  // namespace strait::codec::gpu
