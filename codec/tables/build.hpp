// How the tables are built from tables.inc, which fit.py makes: for tables.cpp, and for kernels,
// which keep tables of their own. All of it runs in the compiler, but for tables of the user.
#pragma once

#include "codec/tables/tables.hpp"

namespace strait::codec::tables {

struct LowCode {
  uint8_t length[17];
};

#include "codec/tables/tables.inc"

constexpr uint8_t reversed(uint32_t bits, int length) {
  uint32_t result = 0;
  for (int i = 0; i < length; ++i) result |= ((bits >> i) & 1) << (length - 1 - i);
  return static_cast<uint8_t>(result);
}

// Codes count up, shorter ones first, equal ones in the order of their symbols.
constexpr PrefixCode make_code(const uint8_t* lengths, int symbols) {
  PrefixCode code;
  uint32_t next = 0;
  for (int length = 1; length <= kMostCodeBits; ++length, next *= 2)
    for (int symbol = 0; symbol < symbols; ++symbol) {
      if (lengths[symbol] != length) continue;
      code.length[symbol] = static_cast<uint8_t>(length);
      code.bits[symbol] = reversed(next++, length);
      const auto entry = static_cast<uint16_t>(symbol | length << 8);
      for (int rest = code.bits[symbol]; rest < 256; rest += 1 << length)
        code.decoded[rest] = entry;
    }
  for (int bits = 0; bits < 32; ++bits) {
    code.first[bits] = code.decoded[bits];
    code.second[bits] = code.decoded[7 | (bits & 31) << 3];
  }
  return code;
}

// Every code is complete, and codes of more than five bits start with 111.
constexpr bool is_sound(const PrefixCode& code) {
  for (int bits = 0; bits < 256; ++bits) {
    if (code.decoded[bits] == 0) return false;
    if ((code.decoded[bits] >> 8) > 5 && (bits & 7) != 7) return false;
  }
  return true;
}

constexpr ExponentTable make_table(const ExponentCode& row) {
  uint8_t lengths[kSymbols] = {};
  for (int s = 0; s < kNearSymbols; ++s) lengths[s] = row.near[s];
  lengths[kSymbolZero] = row.zero;
  lengths[kSymbolEscape] = row.escape;
  ExponentTable table;
  table.code = make_code(lengths, kSymbols);
  table.above = row.above;
  for (int s = 0; s < kSymbols; ++s)
    table.near[s] = static_cast<uint8_t>(s < kNearSymbols && row.near[s] ? s : kSymbolEscape);
  table.zero = row.zero ? kSymbolZero : kSymbolEscape;
  return table;
}

constexpr std::array<ExponentTable, kExponentTables> make_tables() {
  std::array<ExponentTable, kExponentTables> tables;
  for (int t = 0; t < kExponentTables; ++t) tables[t] = make_table(kExponentCodes[t]);
  return tables;
}

constexpr std::array<PrefixCode, kLowTables> make_low_codes() {
  std::array<PrefixCode, kLowTables> codes;
  for (int t = 0; t < kLowTables; ++t) codes[t] = make_code(kLowCodes[t].length, 17);
  return codes;
}

// Bits of one value of what a histogram counts in place k (kPriced).
constexpr uint16_t price_of(const ExponentCode& row, int k) {
  const auto escape = static_cast<uint16_t>(row.escape + 8);
  if (k == kPriced - 2) return row.zero ? row.zero : escape;
  const int symbol = k + row.above - 6;
  const bool coded = k < kPriced - 2 && symbol >= 0 && symbol < kNearSymbols && row.near[symbol];
  return coded ? row.near[symbol] : escape;
}

constexpr Prices make_prices() {
  Prices prices = {};
  for (int t = 0; t < kExponentTables; ++t)
    for (int k = 0; k < kPriced; ++k) prices[k][t] = price_of(kExponentCodes[t], k);
  return prices;
}

constexpr LowPrices make_low_prices() {
  LowPrices prices = {};
  for (int t = 0; t < kLowTables; ++t)
    for (int zeros = 0; zeros <= 16; ++zeros)
      prices[zeros][t] =
          static_cast<uint16_t>(kLowCodes[t].length[zeros] + (zeros < 15 ? 15 - zeros : 0));
  return prices;
}

}  // namespace strait::codec::tables
