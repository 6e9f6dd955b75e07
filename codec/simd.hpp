// The kernels for full blocks in vectors of whatever length the compiler's flags allow (Google
// Highway, static dispatch). Included once per instruction set, by target_*.cpp, with
// STRAIT_CODEC_TARGET naming the namespace: everything here stays within it, so that no function
// compiled for one processor is ever called on another. Any thread; a few hundred instructions per
// block.
#pragma once

#include <hwy/highway.h>

#include "codec/bytes.hpp"
#include "codec/kernels.hpp"

namespace strait::codec::STRAIT_CODEC_TARGET {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

const hn::ScalableTag<uint8_t> kBytes;
using Vector = hn::Vec<decltype(kBytes)>;
constexpr size_t kWidth = HWY_LANES(uint8_t);

constexpr size_t kPlaneBytes = kBlockValues / 8;

inline Vector load_bytes(const uint8_t* at) {
  return hn::LoadU(kBytes, at);
}
inline void store_bytes(Vector vector, uint8_t* at) {
  hn::StoreU(vector, kBytes, at);
}
inline Vector all(uint8_t byte) {
  return hn::Set(kBytes, byte);
}

// The exponent of eight bits, and the residual's top byte (sign, seven bits of mantissa), of a
// value's two highest bytes.
inline Vector exponent_of(Vector high, Vector low) {
  return hn::Or(hn::Add(high, high), hn::ShiftRight<7>(low));
}

inline void split_top(Vector high, Vector low, uint8_t* exponent, uint8_t* residual) {
  store_bytes(exponent_of(high, low), exponent);
  store_bytes(hn::OrAnd(hn::And(low, all(0x7F)), high, all(0x80)), residual);
}

inline void join_top(Vector exponent, Vector residual, Vector& high, Vector& low) {
  high = hn::OrAnd(hn::ShiftRight<1>(exponent), residual, all(0x80));
  low = hn::OrAnd(hn::ShiftLeft<7>(exponent), residual, all(0x7F));
}

#if !defined(STRAIT_CODEC_OWN_BFLOAT16)
inline void split_bfloat16(const uint8_t* in, BlockParts& parts) {
  for (size_t i = 0; i < kBlockValues; i += kWidth) {
    Vector low, high;
    hn::LoadInterleaved2(kBytes, in + 2 * i, low, high);
    split_top(high, low, parts.exponent + i, parts.split_to[0] + i);
  }
}

inline void join_bfloat16(const BlockParts& parts, uint8_t* out) {
  for (size_t i = 0; i < kBlockValues; i += kWidth) {
    Vector low, high;
    join_top(load_bytes(parts.exponent + i), load_bytes(parts.plane[0] + i), high, low);
    hn::StoreInterleaved2(low, high, kBytes, out + 2 * i);
  }
}

#endif

inline void split_half(const uint8_t* in, BlockParts& parts) {
  for (size_t i = 0; i < kBlockValues; i += kWidth) {
    Vector low, high;
    hn::LoadInterleaved2(kBytes, in + 2 * i, low, high);
    store_bytes(low, parts.split_to[0] + i);
    store_bytes(hn::And(hn::ShiftRight<2>(high), all(31)), parts.exponent + i);
    store_bytes(hn::OrAnd(hn::And(high, all(3)), hn::ShiftRight<5>(high), all(4)), parts.bits + i);
  }
}

inline void join_half(const BlockParts& parts, uint8_t* out) {
  for (size_t i = 0; i < kBlockValues; i += kWidth) {
    const Vector bits = load_bytes(parts.bits + i);
    const Vector exponent = hn::ShiftLeft<2>(load_bytes(parts.exponent + i));
    const Vector sign = hn::And(hn::ShiftLeft<5>(bits), all(0x80));
    const Vector high = hn::Or(hn::Or(exponent, sign), hn::And(bits, all(3)));
    hn::StoreInterleaved2(load_bytes(parts.plane[0] + i), high, kBytes, out + 2 * i);
  }
}

inline void split_float(const uint8_t* in, BlockParts& parts) {
  for (size_t i = 0; i < kBlockValues; i += kWidth) {
    Vector byte0, byte1, byte2, byte3;
    hn::LoadInterleaved4(kBytes, in + 4 * i, byte0, byte1, byte2, byte3);
    store_bytes(byte0, parts.split_to[0] + i);
    store_bytes(byte1, parts.split_to[1] + i);
    split_top(byte3, byte2, parts.exponent + i, parts.split_to[2] + i);
  }
}

inline void join_float(const BlockParts& parts, uint8_t* out) {
  for (size_t i = 0; i < kBlockValues; i += kWidth) {
    Vector byte2, byte3;
    join_top(load_bytes(parts.exponent + i), load_bytes(parts.plane[2] + i), byte3, byte2);
    hn::StoreInterleaved4(load_bytes(parts.plane[0] + i), load_bytes(parts.plane[1] + i), byte2,
                          byte3, kBytes, out + 4 * i);
  }
}

template <int mantissa_bits>
inline void split_float8(const uint8_t* in, BlockParts& parts) {
  const Vector mantissa = all((1 << mantissa_bits) - 1);
  for (size_t i = 0; i < kBlockValues; i += kWidth) {
    const Vector value = load_bytes(in + i);
    store_bytes(hn::ShiftRight<mantissa_bits>(hn::And(value, all(0x7F))), parts.exponent + i);
    store_bytes(hn::OrAnd(hn::And(value, mantissa), hn::ShiftRight<7 - mantissa_bits>(value),
                          all(1 << mantissa_bits)),
                parts.bits + i);
  }
}

template <int mantissa_bits>
inline void join_float8(const BlockParts& parts, uint8_t* out) {
  const Vector mantissa = all((1 << mantissa_bits) - 1);
  for (size_t i = 0; i < kBlockValues; i += kWidth) {
    const Vector bits = load_bytes(parts.bits + i);
    const Vector sign = hn::And(hn::ShiftLeft<7 - mantissa_bits>(bits), all(0x80));
    const Vector exponent = hn::ShiftLeft<mantissa_bits>(load_bytes(parts.exponent + i));
    store_bytes(hn::Or(hn::Or(exponent, sign), hn::And(bits, mantissa)), out + i);
  }
}

// Plain loops, a part of all values at a time, so that the compiler turns them into vectors.
template <class Part>
inline void each_double(const uint8_t* in, uint8_t* __restrict out, const Part& part) {
  for (size_t i = 0; i < kBlockValues; ++i) {
    uint64_t value;
    __builtin_memcpy(&value, in + 8 * i, 8);
    out[i] = static_cast<uint8_t>(part(value));
  }
}

inline void split_double(const uint8_t* in, BlockParts& parts) {
  for (int p = 0; p < 6; ++p)
    each_double(in, parts.split_to[p], [p](uint64_t value) { return value >> (8 * p); });
  each_double(in, parts.exponent, [](uint64_t value) { return value >> 52; });
  each_double(in, parts.exponent_high, [](uint64_t value) { return value >> 60 & 7; });
  each_double(in, parts.bits,
              [](uint64_t value) { return (value >> 48 & 15) | (value >> 59 & 16); });
}

inline void join_double(const BlockParts& parts, uint8_t* __restrict out) {
  const uint8_t* const low[4] = {parts.plane[0], parts.plane[1], parts.plane[2], parts.plane[3]};
  const uint8_t* const high[2] = {parts.plane[4], parts.plane[5]};
  const uint8_t *const exponent = parts.exponent, *const exponent_high = parts.exponent_high;
  const uint8_t* const bits = parts.bits;
  for (size_t i = 0; i < kBlockValues; ++i) {
    const uint32_t lower = low[0][i] | uint32_t{low[1][i]} << 8 | uint32_t{low[2][i]} << 16 |
                           uint32_t{low[3][i]} << 24;
    const uint32_t upper = high[0][i] | uint32_t{high[1][i]} << 8 | (bits[i] & 15u) << 16 |
                           (bits[i] & 16u) << 27 | uint32_t{exponent[i]} << 20 |
                           uint32_t{exponent_high[i]} << 28;
    const uint64_t value = lower | uint64_t{upper} << 32;
    __builtin_memcpy(out + 8 * i, &value, 8);
  }
}

void split(const Shape& shape, const void* values, size_t, BlockParts& parts) {
  const auto* in = static_cast<const uint8_t*>(values);
  switch (shape.mantissa_bits) {
    case 7:
      return split_bfloat16(in, parts);
    case 10:
      return split_half(in, parts);
    case 23:
      return split_float(in, parts);
    case 52:
      return split_double(in, parts);
    case 3:
      return split_float8<3>(in, parts);
    default:
      return split_float8<2>(in, parts);
  }
}

void join(const Shape& shape, const BlockParts& parts, size_t, void* values) {
  auto* out = static_cast<uint8_t*>(values);
  switch (shape.mantissa_bits) {
    case 7:
      return join_bfloat16(parts, out);
    case 10:
      return join_half(parts, out);
    case 23:
      return join_float(parts, out);
    case 52:
      return join_double(parts, out);
    case 3:
      return join_float8<3>(parts, out);
    default:
      return join_float8<2>(parts, out);
  }
}

void pack_bits(const uint8_t* codes, size_t, size_t width, uint8_t* planes) {
  for (size_t i = 0; i < kBlockValues; i += kWidth) {
    const Vector v = load_bytes(codes + i);
    for (size_t p = 0; p < width; ++p)
      hn::StoreMaskBits(kBytes, hn::TestBit(v, all(static_cast<uint8_t>(1u << p))),
                        planes + p * kPlaneBytes + i / 8);
  }
}

inline Vector unpacked(const uint8_t* planes, size_t i, size_t width) {
  Vector v = all(0);
  for (size_t p = 0; p < width; ++p) {
    uint8_t bits[8];
    __builtin_memcpy(bits, planes + p * kPlaneBytes + i / 8, kWidth / 8);
    v = hn::Or(
        v, hn::IfThenElseZero(hn::LoadMaskBits(kBytes, bits), all(static_cast<uint8_t>(1u << p))));
  }
  return v;
}

void unpack_bits(const uint8_t* planes, size_t, size_t width, uint8_t* codes) {
  for (size_t i = 0; i < kBlockValues; i += kWidth)
    store_bytes(unpacked(planes, i, width), codes + i);
}

}  // namespace
}  // namespace strait::codec::STRAIT_CODEC_TARGET
