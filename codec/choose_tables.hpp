// The kernels that look at all blocks of a tile before one is coded: the counts of each, and what
// windows and tables would cost all of them, in plain loops over blocks that the compiler turns
// into vectors. Included by each target, in its own namespace (simd.hpp says why). Any thread; some
// fifty instructions per block where vectors are long.
#pragma once

#include "codec/kernels.hpp"

namespace strait::codec::STRAIT_CODEC_TARGET {
namespace {

using EachBlock = uint16_t[kTileBlocks];

// The bytes of the cheapest window that the bins show, as cheapest_window() finds it for exponents
// of a byte.
inline void price_windows(const EachBlock bins[kBins], int exponent_bits, TileChoices& choices) {
  constexpr auto kAll = static_cast<uint16_t>(kBlockValues);
  EachBlock before[kBins + 1] = {};
  for (int k = 0; k < kBins; ++k)
    for (size_t b = 0; b < kTileBlocks; ++b)
      before[k + 1][b] = static_cast<uint16_t>(before[k][b] + bins[k][b]);
  for (size_t b = 0; b < kTileBlocks; ++b) {
    choices.counted[b] = before[kBins][b];
    choices.window_bytes[b] = static_cast<uint16_t>(exponent_bits * (kBlockValues / 8));
  }
  for (int width = 1; width <= kSearchedWidths && width < exponent_bits; ++width) {
    const int span = (1 << width) - 1;
    EachBlock most = {};
    for (int first = 0; first + span <= kBins; ++first)
      for (size_t b = 0; b < kTileBlocks; ++b) {
        const auto inside = static_cast<uint16_t>(before[first + span][b] - before[first][b]);
        most[b] = inside > most[b] ? inside : most[b];
      }
    for (size_t b = 0; b < kTileBlocks; ++b) {
      const auto outside = static_cast<uint16_t>(kAll - most[b]);
      const auto total = static_cast<uint16_t>(width * (kBlockValues / 8) + outside);
      const uint16_t bid = outside > 255 ? uint16_t{0xFFFF} : total;
      choices.window_bytes[b] = bid < choices.window_bytes[b] ? bid : choices.window_bytes[b];
    }
  }
}

// What kPrices has prices of: bins without exponent zero, then zeros, then all others.
inline void price_rest(const TileCounts& counts, const EachBlock& counted,
                       EachBlock rows[kPriced]) {
  EachBlock zero_bin, seen;
  for (size_t b = 0; b < kTileBlocks; ++b) {
    zero_bin[b] = static_cast<uint16_t>(counts.top[b] & 255);
    rows[kPriced - 2][b] = counts.zeros[b];
    seen[b] = zero_bin[b] < kBins ? uint16_t{0} : counts.zeros[b];
  }
  for (uint16_t k = 0; k < kBins; ++k)
    for (size_t b = 0; b < kTileBlocks; ++b)
      rows[k][b] = zero_bin[b] == k ? uint16_t{0} : rows[k][b];
  for (size_t b = 0; b < kTileBlocks; ++b)
    rows[kPriced - 1][b] = static_cast<uint16_t>(kBlockValues - counted[b] - seen[b]);
}

void choose_tables(const TileCounts& counts, int exponent_bits, TileChoices& choices) {
  EachBlock rows[kPriced];
  for (size_t b = 0; b < kTileBlocks; ++b)
    for (int k = 0; k < kBins; ++k) rows[k][b] = counts.bins[b][k];
  price_windows(rows, exponent_bits, choices);
  price_rest(counts, choices.counted, rows);
  for (uint16_t& bits : choices.table_bits) bits = 0xFFFF;
  for (uint16_t t = 0; t < kExponentTables; ++t) {
    EachBlock cost = {};
    for (int k = 0; k < kPriced; ++k)
      for (size_t b = 0; b < kTileBlocks; ++b)
        cost[b] = static_cast<uint16_t>(cost[b] + rows[k][b] * kPrices[k][t]);
    for (size_t b = 0; b < kTileBlocks; ++b) {
      choices.table[b] = cost[b] < choices.table_bits[b] ? t : choices.table[b];
      choices.table_bits[b] = cost[b] < choices.table_bits[b] ? cost[b] : choices.table_bits[b];
    }
  }
}

}  // namespace
}  // namespace strait::codec::STRAIT_CODEC_TARGET
