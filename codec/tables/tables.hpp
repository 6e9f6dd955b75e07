// The code tables that the dense mode has built in, in the forms that coding needs. Constants, made
// by the compiler from tables.inc; any thread; no cost.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace strait::codec {

inline constexpr int kExponentTables = 32;
inline constexpr int kLowTables = 16;
inline constexpr int kMostCodeBits = 8;

// A symbol is top - exponent for 0 to 13, or one of these two.
inline constexpr uint8_t kSymbolZero = 14;    // exponent zero
inline constexpr uint8_t kSymbolEscape = 15;  // the exponent is in the list
inline constexpr int kSymbols = 16;
inline constexpr int kNearSymbols = 14;

// A prefix code for up to 17 symbols. Codes are sent from their first bit, into the lowest bit that
// is free.
struct PrefixCode {
  uint8_t length[32] = {};     // by symbol; 0: has no code
  uint8_t bits[32] = {};       // by symbol, the first bit lowest
  uint16_t decoded[256] = {};  // by the next eight bits: symbol, and length in the high byte
  // The same by five bits, for codes of at most five bits, and by the next five behind the prefix
  // 111, for all longer ones.
  uint16_t first[32] = {};
  uint16_t second[32] = {};
};

struct alignas(64) ExponentTable {
  PrefixCode code;
  uint8_t above = 0;  // its first exponent is so far above the mean
  uint8_t near[kSymbols] =
      {};  // by min(top - exponent, 15): the symbol, the escape where there is no code
  uint8_t zero = kSymbolEscape;  // the symbol of exponent zero
};

// Code lengths: of exponents from `above` above the mean down (0: escaped), of exponent zero (0:
// escaped), of the escape.
struct ExponentCode {
  uint8_t above;
  uint8_t near[kNearSymbols];
  uint8_t zero;
  uint8_t escape;
};

extern const std::array<ExponentTable, kExponentTables> kTables;
extern const std::array<PrefixCode, kLowTables> kLowCodesByTable;

// What a histogram costs: bins of exponents mean + 6 - k for k below 15, then zeros, then all
// others.
inline constexpr int kPriced = 17;
using Prices = std::array<std::array<uint16_t, kExponentTables>, kPriced>;
extern const Prices kPrices;
// Bits of a value by trailing zeros of its low half.
using LowPrices = std::array<std::array<uint16_t, kLowTables>, kPriced>;
extern const LowPrices kLowPrices;

}  // namespace strait::codec
