// CUDA's SIMD-in-a-word builtins: two halves or four bytes of a 32-bit word, each on its own.
// Plain functions for any thread, checked against slow references in words_test.cpp; each costs a
// short loop that compilers unroll.
//
// The names come in pairs, __vNAME2 and __vNAME4; within, `s` is signed, `u` unsigned, `ss` and
// `us` saturate. Comparisons give all ones or zero in each part (__vset: one or zero).
#pragma once

#include <cstdint>

namespace strait::simt {

// Calls part(a, b) for each part of so many bits, widened to int with or without its sign.
template <int bits, bool is_signed, class Part>
unsigned each_part(unsigned a, unsigned b, Part part) {
  constexpr unsigned kOnes = (1u << bits) - 1;
  unsigned result = 0;
  for (int at = 0; at < 32; at += bits) {
    int left = static_cast<int>(a >> at & kOnes), right = static_cast<int>(b >> at & kOnes);
    if constexpr (is_signed) {
      left = static_cast<int>(static_cast<unsigned>(left) << (32 - bits)) >> (32 - bits);
      right = static_cast<int>(static_cast<unsigned>(right) << (32 - bits)) >> (32 - bits);
    }
    result |= (static_cast<unsigned>(part(left, right)) & kOnes) << at;
  }
  return result;
}

template <int bits, bool is_signed>
constexpr int saturate(int value) {
  constexpr int kHigh = is_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
  constexpr int kLow = is_signed ? -(1 << (bits - 1)) : 0;
  return value < kLow ? kLow : value > kHigh ? kHigh : value;
}

}  // namespace strait::simt

#define STRAIT_SIMT_WORD(name, bits, is_signed, expression)                      \
  inline unsigned name(unsigned x, unsigned y) {                                 \
    return strait::simt::each_part<bits, is_signed>(                             \
        x, y, [](int a, int b) -> int { return static_cast<int>(expression); }); \
  }
#define STRAIT_SIMT_WORDS(name, is_signed, expression) \
  STRAIT_SIMT_WORD(name##2, 16, is_signed, expression) \
  STRAIT_SIMT_WORD(name##4, 8, is_signed, expression)
#define STRAIT_SIMT_SATURATED(name, is_signed, expression)                                      \
  STRAIT_SIMT_WORD(name##2, 16, is_signed, (strait::simt::saturate<16, is_signed>(expression))) \
  STRAIT_SIMT_WORD(name##4, 8, is_signed, (strait::simt::saturate<8, is_signed>(expression)))

STRAIT_SIMT_WORDS(__vadd, false, a + b)
STRAIT_SIMT_WORDS(__vsub, false, a - b)
STRAIT_SIMT_SATURATED(__vaddss, true, a + b)
STRAIT_SIMT_SATURATED(__vaddus, false, a + b)
STRAIT_SIMT_SATURATED(__vsubss, true, a - b)
STRAIT_SIMT_SATURATED(__vsubus, false, a - b)
STRAIT_SIMT_WORDS(__vmins, true, a < b ? a : b)
STRAIT_SIMT_WORDS(__vminu, false, a < b ? a : b)
STRAIT_SIMT_WORDS(__vmaxs, true, a > b ? a : b)
STRAIT_SIMT_WORDS(__vmaxu, false, a > b ? a : b)
STRAIT_SIMT_WORDS(__vavgs, true, (a + b + (a + b >= 0)) >> 1)
STRAIT_SIMT_WORDS(__vavgu, false, (a + b + 1) >> 1)
STRAIT_SIMT_WORDS(__vhaddu, false, (a + b) >> 1)
STRAIT_SIMT_WORDS(__vabsdiffu, false, a < b ? b - a : a - b)
STRAIT_SIMT_WORDS(__vabsdiffs, true, a < b ? b - a : a - b)

#define STRAIT_SIMT_COMPARED(name, is_signed, comparison)             \
  STRAIT_SIMT_WORDS(__vcmp##name, is_signed, a comparison b ? -1 : 0) \
  STRAIT_SIMT_WORDS(__vset##name, is_signed, a comparison b ? 1 : 0)
STRAIT_SIMT_COMPARED(eq, false, ==)
STRAIT_SIMT_COMPARED(ne, false, !=)
STRAIT_SIMT_COMPARED(ges, true, >=)
STRAIT_SIMT_COMPARED(geu, false, >=)
STRAIT_SIMT_COMPARED(gts, true, >)
STRAIT_SIMT_COMPARED(gtu, false, >)
STRAIT_SIMT_COMPARED(les, true, <=)
STRAIT_SIMT_COMPARED(leu, false, <=)
STRAIT_SIMT_COMPARED(lts, true, <)
STRAIT_SIMT_COMPARED(ltu, false, <)

#undef STRAIT_SIMT_COMPARED
#undef STRAIT_SIMT_SATURATED
#undef STRAIT_SIMT_WORDS
#undef STRAIT_SIMT_WORD

// The lesser of a sum, which wraps around, and a limit.
inline unsigned __viaddmin_u16x2(unsigned x, unsigned y, unsigned limit) {
  return __vminu2(__vadd2(x, y), limit);
}

// Negation and absolute value, wrapping or saturating at the lowest value.
inline unsigned __vneg2(unsigned x) {
  return __vsub2(0, x);
}
inline unsigned __vneg4(unsigned x) {
  return __vsub4(0, x);
}
inline unsigned __vnegss2(unsigned x) {
  return __vsubss2(0, x);
}
inline unsigned __vnegss4(unsigned x) {
  return __vsubss4(0, x);
}
inline unsigned __vabs2(unsigned x) {
  return __vabsdiffs2(x, 0);
}
inline unsigned __vabs4(unsigned x) {
  return __vabsdiffs4(x, 0);
}
inline unsigned __vabsss2(unsigned x) {
  return __vmaxs2(x, __vnegss2(x));
}
inline unsigned __vabsss4(unsigned x) {
  return __vmaxs4(x, __vnegss4(x));
}

// The sum over the parts of their distances.
inline unsigned __vsadu4(unsigned x, unsigned y) {
  const unsigned apart = __vabsdiffu4(x, y);
  return (apart & 0xff) + (apart >> 8 & 0xff) + (apart >> 16 & 0xff) + (apart >> 24);
}
inline unsigned __vsadu2(unsigned x, unsigned y) {
  const unsigned apart = __vabsdiffu2(x, y);
  return (apart & 0xffff) + (apart >> 16);
}
inline unsigned __vsads4(unsigned x, unsigned y) {
  const unsigned apart = __vabsdiffs4(x, y);
  return (apart & 0xff) + (apart >> 8 & 0xff) + (apart >> 16 & 0xff) + (apart >> 24);
}
inline unsigned __vsads2(unsigned x, unsigned y) {
  const unsigned apart = __vabsdiffs2(x, y);
  return (apart & 0xffff) + (apart >> 16);
}
