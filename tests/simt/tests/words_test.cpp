// Each builtin on words against its definition, bit by bit or part by part.
#include <random>

#include "kernel_case.hpp"

namespace strait::simt {
namespace {

std::vector<uint32_t> words() {
  std::vector<uint32_t> all{0,          1,          2,          0x7f,       0x80,       0xff,
                            0x7fff,     0x8000,     0xffff,     0x7f7f7f7f, 0x80808080, 0x7fff7fff,
                            0x80008000, 0x7fffffff, 0x80000000, 0xffffffff, 0x01020304, 0xfffefdfc};
  std::mt19937 random(7);
  while (all.size() < 90) all.push_back(static_cast<uint32_t>(random()));
  return all;
}

int bit(uint64_t word, int at) {
  return static_cast<int>(word >> at & 1);
}

TEST(Bits, CountAndReverse) {
  for (const uint32_t high : words()) {
    for (const uint32_t low : {0u, 5u, 0x80000000u}) {
      const uint64_t word = uint64_t{high} << 32 | low;
      int ones = 0, first = 0, leading = 0;
      uint64_t reversed = 0;
      for (int at = 0; at < 64; ++at) {
        ones += bit(word, at);
        if (first == 0 && bit(word, at) == 1) first = at + 1;
        reversed |= static_cast<uint64_t>(bit(word, at)) << (63 - at);
      }
      while (leading < 64 && bit(word, 63 - leading) == 0) ++leading;
      EXPECT_EQ(__popcll(word), ones);
      EXPECT_EQ(__ffsll(static_cast<long long>(word)), first);
      EXPECT_EQ(__clzll(static_cast<long long>(word)), leading);
      EXPECT_EQ(__brevll(word), reversed);
    }
    const auto lowest = static_cast<uint32_t>(__ffsll(high));
    EXPECT_EQ(__popc(high), __popcll(high));
    EXPECT_EQ(__clz(static_cast<int>(high)), __clzll(high) - 32);
    EXPECT_EQ(__ffs(static_cast<int>(high)), static_cast<int>(lowest));
    EXPECT_EQ(__brev(high), __brevll(high) >> 32);
  }
}

TEST(Bits, BytePermPicksEachByte) {
  const uint32_t x = 0x44332211, y = 0x88776655;
  for (uint32_t selector = 0; selector < 0x10000; selector += 7) {
    uint32_t expected = 0;
    for (int at = 0; at < 4; ++at) {
      const uint32_t pick = selector >> (4 * at) & 7;
      expected |= (pick + 1) * 0x11 << (8 * at);
    }
    EXPECT_EQ(__byte_perm(x, y, selector), expected) << selector;
  }
}

TEST(Bits, FunnelShiftsTakeBitsFromBothWords) {
  for (const uint32_t low : words()) {
    for (uint32_t shift = 0; shift < 70; ++shift) {
      const uint32_t high = ~low * 3;
      const uint32_t wrapped = shift % 32, clamped = shift < 32 ? shift : 32;
      const auto left = [&](uint32_t by) {
        return by == 0 ? high : by == 32 ? low : high << by | low >> (32 - by);
      };
      const auto right = [&](uint32_t by) {
        return by == 0 ? low : by == 32 ? high : low >> by | high << (32 - by);
      };
      EXPECT_EQ(__funnelshift_l(low, high, shift), left(wrapped));
      EXPECT_EQ(__funnelshift_lc(low, high, shift), left(clamped));
      EXPECT_EQ(__funnelshift_r(low, high, shift), right(wrapped));
      EXPECT_EQ(__funnelshift_rc(low, high, shift), right(clamped));
    }
  }
}

TEST(Bits, Products) {
  EXPECT_EQ(__umulhi(0xffffffff, 0xffffffff), 0xfffffffeu);
  EXPECT_EQ(__mulhi(-2, 3), -1);
  EXPECT_EQ(__umul64hi(~0ull, ~0ull), ~0ull - 1);
  EXPECT_EQ(__mul64hi(-1, 5), -1);
  EXPECT_EQ(__dp4a(0x01ff02fe, 0x02020303, 100), 100 + 2 - 2 + 6 - 6);
  EXPECT_EQ(__dp4a(0x01ff02feu, 0x02020303u, 1u), 1u + 2 + 255 * 2 + 6 + 254 * 3);
  EXPECT_EQ(__usad(3, 10, 1), 8u);
  EXPECT_EQ(min(3u, -1), 3u);
  EXPECT_EQ(max(3u, -1), 0xffffffffu);
  EXPECT_EQ(__float_as_uint(1.0f), 0x3f800000u);
  EXPECT_EQ(__uint_as_float(0xc0000000u), -2.0f);
  EXPECT_EQ(__longlong_as_double(__double_as_longlong(0.1)), 0.1);
}

// What an operation on parts of so many bits must give, in wide arithmetic.
using Wide = std::function<long long(long long, long long)>;
uint32_t expected(uint32_t a, uint32_t b, int bits, bool is_signed, const Wide& part) {
  uint32_t result = 0;
  for (int at = 0; at < 32; at += bits) {
    long long x = a >> at & ((1u << bits) - 1), y = b >> at & ((1u << bits) - 1);
    const long long span = 1ll << bits;
    if (is_signed && x >= span / 2) x -= span;
    if (is_signed && y >= span / 2) y -= span;
    result |= static_cast<uint32_t>(part(x, y) & (span - 1)) << at;
  }
  return result;
}

#define EXPECT_PARTS(name, is_signed, expression)                                             \
  for (const uint32_t x : words()) {                                                          \
    for (const uint32_t y : words()) {                                                        \
      for (const int bits : {8, 16}) {                                                        \
        const long long low = is_signed ? -(1ll << (bits - 1)) : 0;                           \
        const long long high = low + (1ll << bits) - 1;                                       \
        const auto part = [&](long long a, long long b) -> long long {                        \
          static_cast<void>(low + high);                                                      \
          return expression;                                                                  \
        };                                                                                    \
        const uint32_t found = bits == 8 ? name##4(x, y) : name##2(x, y);                     \
        ASSERT_EQ(found, expected(x, y, bits, is_signed, part)) << std::hex << x << " " << y; \
      }                                                                                       \
    }                                                                                         \
  }

TEST(Words, SumsAndDifferences){
    EXPECT_PARTS(__vadd, false, a + b) EXPECT_PARTS(__vsub, false, a - b)
        EXPECT_PARTS(__vaddss, true, std::clamp(a + b, low, high))
            EXPECT_PARTS(__vaddus, false, std::clamp(a + b, low, high))
                EXPECT_PARTS(__vsubss, true, std::clamp(a - b, low, high))
                    EXPECT_PARTS(__vsubus, false, std::clamp(a - b, low, high))
                        EXPECT_PARTS(__vabsdiffu, false, a > b ? a - b : b - a)
                            EXPECT_PARTS(__vabsdiffs, true, a > b ? a - b : b - a)}

TEST(Words, LeastGreatestAndMean){
    EXPECT_PARTS(__vminu, false, std::min(a, b)) EXPECT_PARTS(__vmaxu, false, std::max(a, b))
        EXPECT_PARTS(__vmins, true, std::min(a, b)) EXPECT_PARTS(__vmaxs, true, std::max(a, b))
            EXPECT_PARTS(__vavgu, false, (a + b + 1) / 2)
                EXPECT_PARTS(__vhaddu, false, (a + b) / 2)}

TEST(Words, Comparisons){
    EXPECT_PARTS(__vcmpeq, false, a == b ? high : 0)
        EXPECT_PARTS(__vcmpne, false, a != b ? high : 0)
            EXPECT_PARTS(__vcmpgtu, false, a > b ? high : 0)
                EXPECT_PARTS(__vcmpgeu, false, a >= b ? high : 0)
                    EXPECT_PARTS(__vcmpltu, false, a < b ? high : 0)
                        EXPECT_PARTS(__vcmpleu, false, a <= b ? high : 0)
                            EXPECT_PARTS(__vcmpgts, true, a > b ? -1 : 0)
                                EXPECT_PARTS(__vcmpges, true, a >= b ? -1 : 0)
                                    EXPECT_PARTS(__vcmplts, true, a < b ? -1 : 0)
                                        EXPECT_PARTS(__vcmples, true, a <= b ? -1 : 0)
                                            EXPECT_PARTS(__vseteq, false, a == b ? 1 : 0)
                                                EXPECT_PARTS(__vsetgts, true, a > b ? 1 : 0)}

TEST(Words, SumsUpToALimit) {
  EXPECT_EQ(__viaddmin_u16x2(0x00010002, 0x00030004, 0xffffffff), 0x00040006u);
  EXPECT_EQ(__viaddmin_u16x2(0x7fff8000, 0x00018000, 0x7fff0001), 0x7fff0000u) << "it wraps";
  EXPECT_EQ(__viaddmin_u16x2(0xffff0005, 0x00020005, 0x00020009), 0x00010009u);
}

TEST(Words, SignsAndDistances) {
  EXPECT_EQ(__vneg4(0x01ff8000), 0xff018000u);
  EXPECT_EQ(__vnegss4(0x01ff8000), 0xff017f00u);
  EXPECT_EQ(__vabs2(0x8000ffff), 0x80000001u);
  EXPECT_EQ(__vabsss2(0x8000ffff), 0x7fff0001u);
  EXPECT_EQ(__vsadu4(0x01ff0003, 0x03000005), 2u + 255 + 0 + 2);
  EXPECT_EQ(__vsads4(0x01ff0003, 0x03000005), 2u + 1 + 0 + 2);
  EXPECT_EQ(__vsadu2(0xffff0001, 0x00000003), 65535u + 2);
  EXPECT_EQ(__vsads2(0xffff0001, 0x00000003), 1u + 2);
  EXPECT_EQ(__vavgs2(0xfffd0001, 0xffff0002), 0xfffe0002u);
}

}  // namespace
}  // namespace strait::simt
