// CUDA's integer builtins on one word: counting, reversing, permuting, wide products, and the
// global min and max. Plain functions for any thread, checked against slow references in
// bits_test.cpp; each costs an instruction or a few.
#pragma once

#include <bit>
#include <cstdint>

inline int __popc(unsigned value) {
  return std::popcount(value);
}
inline int __popcll(unsigned long long value) {
  return std::popcount(value);
}
inline int __clz(int value) {
  return std::countl_zero(static_cast<unsigned>(value));
}
inline int __clzll(long long value) {
  return std::countl_zero(static_cast<unsigned long long>(value));
}
inline int __ffs(int value) {
  return __builtin_ffs(value);
}
inline int __ffsll(long long value) {
  return __builtin_ffsll(value);
}

inline unsigned __brev(unsigned value) {
  value = (value >> 1 & 0x55555555u) | (value & 0x55555555u) << 1;
  value = (value >> 2 & 0x33333333u) | (value & 0x33333333u) << 2;
  value = (value >> 4 & 0x0f0f0f0fu) | (value & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(value);
}
inline unsigned long long __brevll(unsigned long long value) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned>(value))) << 32 |
         __brev(static_cast<unsigned>(value >> 32));
}

// Each nibble of the selector picks a byte of y:x; its high bit asks for the sign instead.
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const uint64_t bytes = static_cast<uint64_t>(y) << 32 | x;
  unsigned result = 0;
  for (int at = 0; at < 4; ++at) {
    const unsigned pick = selector >> (4 * at) & 7;
    result |= static_cast<unsigned>(bytes >> (8 * pick) & 0xff) << (8 * at);
  }
  return result;
}

inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  const uint64_t both = static_cast<uint64_t>(high) << 32 | low;
  return static_cast<unsigned>(both << (shift & 31) >> 32);
}
inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
  const uint64_t both = static_cast<uint64_t>(high) << 32 | low;
  return static_cast<unsigned>(both << (shift < 32 ? shift : 32) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  const uint64_t both = static_cast<uint64_t>(high) << 32 | low;
  return static_cast<unsigned>(both >> (shift & 31));
}
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
  const uint64_t both = static_cast<uint64_t>(high) << 32 | low;
  return static_cast<unsigned>(both >> (shift < 32 ? shift : 32));
}

inline int __mulhi(int a, int b) {
  return static_cast<int>(static_cast<long long>(a) * b >> 32);
}
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<uint64_t>(a) * b >> 32);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
inline long long __mul64hi(long long a, long long b) {
  return static_cast<long long>(static_cast<__int128>(a) * b >> 64);
}

// The sum of c and the four products of the bytes of a and b.
inline int __dp4a(int a, int b, int c) {
  for (int at = 0; at < 32; at += 8) {
    c += static_cast<int8_t>(a >> at) * static_cast<int8_t>(b >> at);
  }
  return c;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int at = 0; at < 32; at += 8) c += (a >> at & 0xff) * (b >> at & 0xff);
  return c;
}
inline unsigned __usad(unsigned a, unsigned b, unsigned c) {
  return c + (a > b ? a - b : b - a);
}

inline unsigned __float_as_uint(float value) {
  return std::bit_cast<unsigned>(value);
}
inline int __float_as_int(float value) {
  return std::bit_cast<int>(value);
}
inline float __uint_as_float(unsigned value) {
  return std::bit_cast<float>(value);
}
inline float __int_as_float(int value) {
  return std::bit_cast<float>(value);
}
inline long long __double_as_longlong(double value) {
  return std::bit_cast<long long>(value);
}
inline double __longlong_as_double(long long value) {
  return std::bit_cast<double>(value);
}

#define STRAIT_SIMT_MIN_MAX(type)      \
  constexpr type min(type a, type b) { \
    return b < a ? b : a;              \
  }                                    \
  constexpr type max(type a, type b) { \
    return a < b ? b : a;              \
  }
STRAIT_SIMT_MIN_MAX(int)
STRAIT_SIMT_MIN_MAX(unsigned)
STRAIT_SIMT_MIN_MAX(long)
STRAIT_SIMT_MIN_MAX(unsigned long)
STRAIT_SIMT_MIN_MAX(long long)
STRAIT_SIMT_MIN_MAX(unsigned long long)
STRAIT_SIMT_MIN_MAX(float)
STRAIT_SIMT_MIN_MAX(double)
#undef STRAIT_SIMT_MIN_MAX
// As CUDA has it: mixed signs compare as unsigned.
constexpr unsigned min(unsigned a, int b) {
  return min(a, static_cast<unsigned>(b));
}
constexpr unsigned min(int a, unsigned b) {
  return min(static_cast<unsigned>(a), b);
}
constexpr unsigned max(unsigned a, int b) {
  return max(a, static_cast<unsigned>(b));
}
constexpr unsigned max(int a, unsigned b) {
  return max(static_cast<unsigned>(a), b);
}
