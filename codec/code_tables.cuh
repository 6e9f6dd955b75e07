// The built-in tables in the forms that kernels read, one copy in each source of kernels, which its
// blocks take into shared memory: an exponent's code is one load without bank conflicts when
// encoding, and one of a byte in 256 when decoding. Constants; any thread.
#pragma once

#include "codec/bit_planes.cuh"
#include "codec/tables/build.hpp"
#include "codec/window.hpp"

namespace strait::codec::gpu {

// Sixteen counters of a lane are four words of bytes: bins 0 2 4 6, 1 3 5 7, and those of 8 more.
constexpr uint32_t bin_in(int word, int byte) {
  return static_cast<uint32_t>((word & 1) + 8 * (word >> 1) + 2 * byte);
}
// Summed over lanes the bytes of a word become two words of 16-bit halves, bytes 0 and 2, 1 and 3.
// What is multiplied with them has its bytes in that order.
inline constexpr int kHalvesOrder[] = {0, 2, 1, 3};

// A lane tries one place of one window: width 2 at bins 0 to 12, width 3 at bins 0 to 8, width 4.
inline constexpr uint32_t kGuessedFrom = 2 * static_cast<uint32_t>(kSampleValues);
inline constexpr uint32_t kWidestLane = 22;  // the lane of the window that has all bins
constexpr uint32_t window_width(uint32_t lane) {
  return lane < 13 ? 2 : lane < 22 ? 3 : lane == kWidestLane ? 4 : 0;
}
constexpr uint32_t window_first(uint32_t lane) {
  return lane - (lane < 13 ? 0 : lane < 22 ? 13 : kWidestLane);
}

struct alignas(16) EncodeTables {
  PlaneLane selectors[32];    // by lane, to gather
  uint4 window_mask[32];      // by lane: 1 in the bytes of the bins that are inside
  uint32_t window_place[32];  // by lane: width << 4 | first bin; 0: none
  // By lane: what the window's planes and all sampled values outside of it cost << 8, place.
  uint32_t guess_key[32];
  // The same for a block of 512; and for width 1 at the bin of the lane's number.
  uint32_t search_key[32], single_key[32];
  uint2 one[18];  // by bin: 1 in its nibble of 64 bits, for bins below 16
  // By lane, in the order of halves: 1 for the bins that are inside of either.
  uint4 window_weight[32], single_weight[32];
  // By table, for all tables beside each other: a lane prices one.
  uint32_t price[4][32];     // of bins, in the order of halves; of bin 15, what exponent zero costs
  uint32_t other_price[32];  // of what no bin holds
  uint32_t low_price[4][32];     // of trailing zeros
  uint32_t low_other_price[32];  // of sixteen of them; no table has a price that high
  uint8_t above[kExponentTables];
  // Code; length, and 1 << 16 for an escape. By min(top - exponent, 15), and 14 for exponent 0.
  uint2 code[kExponentTables][16];
  uint16_t low_code[kLowTables][32];  // code, length of code and bits behind it << 8, of the code
};

inline constexpr uint32_t kEscapedCode = 1u << 16;

struct alignas(16) DecodeTables {
  PlaneLane selectors[32];               // by lane, to scatter
  uint8_t symbol[kExponentTables][256];  // by the next eight bits: symbol, length << 4
  uint8_t low[kLowTables][256];          // trailing zeros, (length - 1) << 5
};

constexpr EncodeTables make_encode_tables() {
  EncodeTables made = {};
  const Prices prices = tables::make_prices();
  const LowPrices low_prices = tables::make_low_prices();
  for (int w = 0; w < 4; ++w)
    for (int b = 0; b < 4; ++b)
      for (int t = 0; t < 32; ++t) {
        const uint32_t bin = bin_in(w, kHalvesOrder[b]);
        made.price[w][t] |= uint32_t{prices[bin][t]} << (8 * b);
        if (t < kLowTables) made.low_price[w][t] |= uint32_t{low_prices[bin][t]} << (8 * b);
      }
  for (uint32_t lane = 0; lane < 32; ++lane) {
    made.selectors[lane] = PlaneLane::of(lane, false);
    const uint32_t width = window_width(lane), first = window_first(lane);
    uint32_t mask[4] = {};
    for (int w = 0; w < 4; ++w)
      for (int b = 0; b < 4; ++b)
        if (bin_in(w, b) - first < (1u << width) - 1) mask[w] |= 1u << (8 * b);
    made.window_mask[lane] = {mask[0], mask[1], mask[2], mask[3]};
    uint32_t weight[2][4] = {};
    for (int w = 0; w < 4; ++w)
      for (int b = 0; b < 4; ++b) {
        const uint32_t bin = bin_in(w, kHalvesOrder[b]);
        if (bin - first < (1u << width) - 1) weight[0][w] |= 1u << (8 * b);
        if (bin == lane && lane < kBins) weight[1][w] |= 1u << (8 * b);
      }
    made.window_weight[lane] = {weight[0][0], weight[0][1], weight[0][2], weight[0][3]};
    made.single_weight[lane] = {weight[1][0], weight[1][1], weight[1][2], weight[1][3]};
    constexpr auto kCount = static_cast<uint32_t>(kBlockValues);
    made.search_key[lane] =
        width == 0 ? ~0u : (width * kCount / 8 + kCount) << 8 | width << 4 | first;
    made.single_key[lane] = lane < kBins ? (kCount / 8 + kCount) << 8 | 1u << 4 | lane : ~0u;
    made.window_place[lane] = width == 0 ? 0 : width << 4 | first;
    made.guess_key[lane] =
        width == 0 ? ~0u : (width * kGuessedFrom / 8 + kGuessedFrom) << 8 | width << 4 | first;
  }
  for (uint32_t bin = 0; bin < 16; ++bin)
    made.one[bin] = {bin < 8 ? 1u << (4 * bin) : 0, bin < 8 ? 0 : 1u << (4 * (bin - 8))};
  const auto exponents = tables::make_tables();
  for (int t = 0; t < kExponentTables; ++t) {
    made.other_price[t] = prices[kPriced - 1][t];
    made.low_other_price[t] = t < kLowTables ? low_prices[16][t] : 1u << 16;
    const ExponentTable& table = exponents[t];
    made.above[t] = table.above;
    for (int s = 0; s < kSymbols; ++s) {
      const uint8_t symbol = s == kSymbolZero ? table.zero : table.near[s];
      made.code[t][s].x = table.code.bits[symbol];
      made.code[t][s].y = table.code.length[symbol] | (symbol == kSymbolEscape ? kEscapedCode : 0);
    }
  }
  const auto low = tables::make_low_codes();
  for (int t = 0; t < kLowTables; ++t)
    for (int z = 0; z <= 16; ++z)
      made.low_code[t][z] = static_cast<uint16_t>(low[t].bits[z] | low[t].length[z] << 8);
  return made;
}

constexpr DecodeTables make_decode_tables() {
  DecodeTables made = {};
  for (uint32_t lane = 0; lane < 32; ++lane) made.selectors[lane] = PlaneLane::of(lane, true);
  const auto exponents = tables::make_tables();
  for (int t = 0; t < kExponentTables; ++t)
    for (int bits = 0; bits < 256; ++bits) {
      const uint16_t entry = exponents[t].code.decoded[bits];
      made.symbol[t][bits] = static_cast<uint8_t>((entry & 15) | (entry >> 8) << 4);
    }
  const auto low = tables::make_low_codes();
  for (int t = 0; t < kLowTables; ++t)
    for (int bits = 0; bits < 256; ++bits) {
      const uint16_t entry = low[t].decoded[bits];
      made.low[t][bits] = static_cast<uint8_t>((entry & 31) | ((entry >> 8) - 1) << 5);
    }
  return made;
}

static __device__ const EncodeTables kEncodeTables = make_encode_tables();
static __device__ const DecodeTables kDecodeTables = make_decode_tables();

// Copies a table into shared memory, with all threads of the block; they meet afterwards.
template <class Tables>
__device__ __forceinline__ void copy_tables(const Tables& from, Tables& to) {
  static_assert(sizeof(Tables) % 16 == 0);
  const auto* const source = reinterpret_cast<const uint4*>(&from);
  auto* const target = reinterpret_cast<uint4*>(&to);
  for (uint32_t i = threadIdx.x; i < sizeof(Tables) / 16; i += blockDim.x) target[i] = source[i];
  __syncthreads();
}

}  // namespace strait::codec::gpu
