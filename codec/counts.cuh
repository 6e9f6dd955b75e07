// How often exponents occur in a block, and what follows from it: a guessed window, the cheapest
// window, the cheapest table. The same pure functions of the block as the host's, so that both
// choose alike. Device code; every lane of a warp calls together; 50 instructions for a guess, 250
// for the search and the table.
#pragma once

#include "codec/code_tables.cuh"
#include "codec/cut.cuh"
#include "codec/window.hpp"

namespace strait::codec::gpu {

// Sixteen counters of a lane, of four bits, for at most fifteen values; and of eight.
struct Counters {
  // Counts the four bytes below 16.
  __device__ __forceinline__ void add(uint32_t bins) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      // The bin's nibble; shifts that are too far leave nothing.
      const uint64_t one = shifted_one((k == 0 ? bins << 2 : bins >> (8 * k - 2)) & 0x3FC);
      low += static_cast<uint32_t>(one);
      high += static_cast<uint32_t>(one >> 32);
    }
  }
  // The same of four bytes of at most 16, times four.
  __device__ __forceinline__ void add_fourfold(uint32_t bins) {
#pragma unroll
    for (uint32_t k = 0; k < 4; ++k) {
      const uint64_t one = shifted_one(__byte_perm(bins, 0, 0x4440 + k));
      low += static_cast<uint32_t>(one);
      high += static_cast<uint32_t>(one >> 32);
    }
  }
  // The same of four bytes of at most 16, times eight, by the table of ones: loads instead of
  // shifts.
  __device__ __forceinline__ void add_eightfold(const EncodeTables& tables, uint32_t bins) {
#pragma unroll
    for (uint32_t k = 0; k < 4; ++k) {
      const uint2 one = *reinterpret_cast<const uint2*>(
          reinterpret_cast<const std::byte*>(tables.one) + permute(bins, 0, 0x4440 + k));
      low += one.x;
      high += one.y;
    }
  }
  __device__ __forceinline__ void add_to(uint32_t (&bytes)[4]) const {
    bytes[0] += low & 0x0F0F0F0Fu;
    bytes[1] += low >> 4 & 0x0F0F0F0Fu;
    bytes[2] += high & 0x0F0F0F0Fu;
    bytes[3] += high >> 4 & 0x0F0F0F0Fu;
  }
  uint32_t low = 0;
  uint32_t high = 0;
};

// How often each bin occurs in a block, the same in all lanes: two halves to a word, in the order
// of code_tables.cuh.
struct BinCounts {
  uint32_t halves[8];
};

// kClamped: no bin exceeds 16.
template <bool kClamped = false>
__device__ __forceinline__ BinCounts count_bins([[maybe_unused]] const EncodeTables& tables,
                                                const uint32_t (&bins)[kBlockRows]) {
  uint32_t bytes[4] = {};
#pragma unroll
  for (int r = 0; r < kBlockRowsInt; r += 2) {
    Counters counters;
#pragma unroll
    for (int both = r; both < r + 2; ++both)
      if constexpr (kClamped)
        counters.add_eightfold(tables, bins[both] << 3);
      else
        counters.add(bins[both]);
    counters.add_to(bytes);
  }
  BinCounts counts;
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    counts.halves[2 * w] = warp_sum(bytes[w] & 0x00FF00FFu);
    counts.halves[2 * w + 1] = warp_sum(bytes[w] >> 8 & 0x00FF00FFu);
  }
  return counts;
}

// The sum of all counts times their weights, which are bytes in the order of halves.
__device__ __forceinline__ uint32_t weigh(const BinCounts& counts, const uint32_t (&weights)[4]) {
  uint32_t sum = 0;
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    sum = dot_lower(counts.halves[2 * w], weights[w], sum);
    sum = dot_upper(counts.halves[2 * w + 1], weights[w], sum);
  }
  return sum;
}

struct GuessedWindow {
  bool found;  // else look closer
  uint32_t width;
  uint32_t above;  // one more than the top
};

// What this lane tries; and width 1 at the bin of its number.
struct WindowLane {
  __device__ __forceinline__ explicit WindowLane(const EncodeTables& tables)
      : weight(tables.window_weight[device::lane_id()]),
        single(tables.single_weight[device::lane_id()]),
        place(tables.window_place[device::lane_id()]) {}
  __device__ __forceinline__ uint32_t width() const { return place >> 4; }
  // What the window costs and where it is, so that the least is the best: the narrower of equally
  // cheap ones, and the first of those.
  __device__ __forceinline__ uint32_t key(uint32_t exponent_bits, uint32_t plane_bytes,
                                          uint32_t outside) const {
    const bool tried = place != 0 && width() < exponent_bits;
    return tried ? (width() * plane_bytes + outside) << 8 | place : ~0u;
  }
  uint4 weight, single;
  uint32_t place;  // width << 4 | first bin; 0: none
};

// What this lane tries when a window is guessed, in registers where that is often.
struct GuessLane {
  GuessLane() = default;
  __device__ __forceinline__ GuessLane(const EncodeTables& tables, uint32_t exponent_bits)
      : mask(tables.window_mask[device::lane_id()]), key(tables.guess_key[device::lane_id()]) {
    if (exponent_bits <= kSearchedWidths && device::lane_id() == kWidestLane) key = ~0u;
  }
  uint4 mask;
  uint32_t key;
};

// Of 64 values at the block's start and 64 at its middle four for each lane: the first half of a
// row is in sixteen lanes; the others take the middle's.
__device__ __forceinline__ uint32_t sampled(uint32_t start, uint32_t middle) {
  const uint32_t lane = device::lane_id(), from_middle = from_lane(middle, lane & 15);
  return lane < 16 ? start : from_middle;
}

// From the sample, as kernels.guess_window: 255 - exponent of this lane's four values. `counts` has
// a count of each lane, of at most 2^11, in its upper half, and is their sum afterwards.
__device__ __forceinline__ GuessedWindow guess_window(const GuessLane& mine, uint32_t exponent_bits,
                                                      uint32_t below, uint32_t& counts) {
  const uint32_t sums = warp_sum(sum_of_bytes(below, counts));
  counts = sums >> 16;
  // What is above the mean, a little more than on average 255 - below.
  const uint32_t above = 255 + kAboveMean + 1 - ((sums & 0xFFFF) + kGuessedFrom - 1) / kGuessedFrom;
  const uint32_t above_halves = (above & 255) * 0x01000100u, most = 0x10FF10FFu;
  const uint32_t bins[2] = {__viaddmin_u16x2(__byte_perm(below, 0, 0x1404), above_halves, most),
                            __viaddmin_u16x2(__byte_perm(below, 0, 0x3424), above_halves, most)};
  Counters counters;
  counters.add_fourfold(__byte_perm(bins[0], bins[1], 0x7531) << 2);
  uint32_t bytes[4] = {};
  counters.add_to(bytes);
  uint32_t inside = __dp4a(mine.mask.x, warp_sum(bytes[0]), 0u);
  inside = __dp4a(mine.mask.y, warp_sum(bytes[1]), inside);
  inside = __dp4a(mine.mask.z, warp_sum(bytes[2]), inside);
  inside = __dp4a(mine.mask.w, warp_sum(bytes[3]), inside);
  const uint32_t key = warp_min(multiply_add(inside, 0u - 256, mine.key));
  // Nothing left out by width 2 calls for a closer look.
  constexpr uint32_t kPlane = kGuessedFrom / 8;
  const bool found = key <= (exponent_bits * kPlane << 8 | 255) && key >> 8 != 2 * kPlane;
  return {found, key >> 4 & 15, (above - (key & 15)) & 255};
}

// The exponents of a block as bytes; `valid` has 255 for values that are there.
struct ExponentBytes {
  uint32_t row[kBlockRows];
  uint32_t valid[kBlockRows];
};

__device__ __forceinline__ uint32_t sum_exponents(const ExponentBytes& e) {
  uint32_t sum = 0;
#pragma unroll
  for (int r = 0; r < kBlockRowsInt; ++r) sum = sum_of_bytes(e.row[r] & e.valid[r], sum);
  return warp_sum(sum);
}

__device__ __forceinline__ uint32_t count_zeros(const ExponentBytes& e, uint32_t n) {
  uint32_t nonzero = 0;
#pragma unroll
  for (int r = 0; r < kBlockRowsInt; ++r) nonzero += count_of(at_least(e.row[r] & e.valid[r], 1));
  return n - warp_sum(nonzero);
}

__device__ __forceinline__ ExponentRange range_of(const ExponentBytes& e, uint32_t n) {
  uint32_t least = 255, most = 0;
#pragma unroll
  for (int r = 0; r < kBlockRowsInt; ++r)
    for (uint32_t k = 0; k < 4; ++k) {
      least = min(least, byte_of(e.row[r] | ~e.valid[r], k));
      most = max(most, byte_of(e.row[r] & e.valid[r], k));
    }
  return {warp_min(least), warp_max(most), count_zeros(e, n), sum_exponents(e)};
}

// Counts from `top` down.
__device__ __forceinline__ BinCounts count_from(const EncodeTables& tables, int top,
                                                const ExponentBytes& e) {
  uint32_t bins[kBlockRows];
#pragma unroll
  for (int r = 0; r < kBlockRowsInt; ++r)
    bins[r] = subtract_bytes(each_byte(static_cast<uint32_t>(top) & 255), e.row[r]) | ~e.valid[r];
  return count_bins(tables, bins);
}

// How many values are in the bins of this lane's window, and in its own bin.
struct Inside {
  __device__ __forceinline__ Inside(const WindowLane& mine, const BinCounts& counts)
      : window(weigh(counts, {mine.weight.x, mine.weight.y, mine.weight.z, mine.weight.w})),
        bin(weigh(counts, {mine.single.x, mine.single.y, mine.single.z, mine.single.w})),
        all(from_lane(window, kWidestLane)) {}
  uint32_t window;
  uint32_t bin;
  uint32_t all;  // in all bins
};

// The cheapest window among n exponents of at most eight bits, as the host's cheapest_window: there
// the widths are compared one by one, here all places at once. Its bytes << 8, width << 4, first
// bin; whether plain exponents are cheaper is not asked.
__device__ __forceinline__ uint32_t narrow_key(const WindowLane& mine, const Inside& inside,
                                               uint32_t exponent_bits, uint32_t n) {
  const auto plane_bytes = static_cast<uint32_t>(bit_bytes(n));
  const uint32_t outside = n - inside.window, others = n - inside.bin;
  const uint32_t wide =
      outside > kMaxEscapeBytes ? ~0u : mine.key(exponent_bits, plane_bytes, outside);
  const uint32_t lane = device::lane_id();
  const uint32_t one = others > kMaxEscapeBytes || lane >= kBins
                           ? ~0u
                           : (plane_bytes + others) << 8 | 1u << 4 | lane;
  return warp_min(min(wide, one));
}
// The same of a full block.
__device__ __forceinline__ uint32_t narrow_key(const EncodeTables& tables, const Inside& inside,
                                               uint32_t exponent_bits) {
  constexpr uint32_t kLeastInside = static_cast<uint32_t>(kBlockValues - kMaxEscapeBytes);
  const uint32_t lane = device::lane_id();
  const bool tried = exponent_bits > kSearchedWidths || lane != kWidestLane;
  const uint32_t wide = tables.search_key[lane] - (inside.window << 8);
  const uint32_t one = tables.single_key[lane] - (inside.bin << 8);
  return warp_min(min(inside.window >= kLeastInside && tried ? wide : ~0u,
                      inside.bin >= kLeastInside ? one : ~0u));
}
__device__ __forceinline__ Window narrow_window(const WindowLane& mine, const Inside& inside,
                                                uint32_t exponent_bits, uint32_t n) {
  const auto plane_bytes = static_cast<uint32_t>(bit_bytes(n));
  const uint32_t key = narrow_key(mine, inside, exponent_bits, n);
  const uint32_t bytes = key >> 8, width = key >> 4 & 15;
  if (bytes > exponent_bits * plane_bytes) return {static_cast<uint8_t>(exponent_bits), 0, 0};
  return {static_cast<uint8_t>(width), static_cast<uint8_t>(key & 15), bytes - width * plane_bytes};
}

// The best place of each width.
__device__ __forceinline__ WindowPlaces find_places(const WindowLane& mine, const Inside& inside,
                                                    uint32_t n) {
  const uint32_t lane = device::lane_id();
  const uint32_t key = (n - inside.window) << 4 | (mine.place & 15);
  const uint32_t best[kSearchedWidths] = {
      warp_min(lane < kBins ? (n - inside.bin) << 4 | lane : ~0u),
      warp_min(mine.width() == 2 ? key : ~0u), warp_min(mine.width() == 3 ? key : ~0u),
      (n - inside.all) << 4};
  WindowPlaces places;
  places.counted = inside.all;
#pragma unroll
  for (int w = 0; w < kSearchedWidths; ++w) {
    places.outside[w] = static_cast<uint16_t>(best[w] >> 4);
    places.first[w] = static_cast<uint8_t>(best[w] & 15);
  }
  return places;
}

struct WindowChoice {
  Window window;
  int top;  // of the bins
  BinCounts counts;
  uint32_t counted;  // in all bins
};

// As the host's choose_window.
template <class Cut>
__device__ __forceinline__ WindowChoice choose_window(const EncodeTables& tables,
                                                      const ExponentBytes& e, bool zero_is_below,
                                                      uint32_t n) {
  const WindowLane mine(tables);
  WindowChoice choice;
  choice.top = static_cast<int>(sum_exponents(e) / n) + kAboveMean;
  choice.counts = count_from(tables, choice.top, e);
  Inside inside(mine, choice.counts);
  if (inside.all < n - n / 4) {
    // Zeros may have pulled the mean away from the rest.
    const ExponentRange range = range_of(e, n);
    if (range.zeros != n) {
      choice.top = static_cast<int>(range.sum / (n - range.zeros)) + kAboveMean;
      choice.counts = count_from(tables, choice.top, e);
      inside = Inside(mine, choice.counts);
    }
  }
  choice.counted = inside.all;
  if constexpr (Cut::kWide) {
    const WindowPlaces places = find_places(mine, inside, n);
    choice.window = cheapest_window(Cut::shape(), {choice.top, {}}, places, zero_is_below, n);
  } else {
    choice.window = narrow_window(mine, inside, Cut::kExponentBits, n);
    if (choice.window.width < Cut::kExponentBits)
      choice.window.top = static_cast<uint8_t>(choice.top - choice.window.top);
  }
  const Window& best = choice.window;
  const size_t plane_bytes = bit_bytes(n);
  const size_t best_bytes = best.width * plane_bytes + best.escapes * Cut::shape().top_bytes();
  if (best_bytes > plane_bytes && best_bytes <= 5 * plane_bytes) return choice;
  const Window all = window_of_all(Cut::shape(), range_of(e, n), zero_is_below);
  if (all.width * plane_bytes < best_bytes) choice.window = all;
  return choice;
}

struct TableChoice {
  uint32_t table;
  uint32_t bits;
  bool zeros;  // whether some exponents are zero, as far as bytes tell
};

// Takes a bin's count away and returns it.
__device__ __forceinline__ uint32_t take_bin(BinCounts& counts, uint32_t bin) {
  uint32_t taken = 0;
#pragma unroll
  for (int w = 0; w < 4; ++w)
#pragma unroll
    for (int b = 0; b < 4; ++b)
      if (bin_in(w, b) == bin) {
        uint32_t& halves = counts.halves[2 * w + (b & 1)];
        taken = halves >> (16 * (b >> 1)) & 0xFFFF;
        halves &= 0xFFFFu << (16 * (1 - (b >> 1)));
      }
  return taken;
}

// The table that codes so many exponents best: those in bins 0 to 14, zeros, and others.
__device__ __forceinline__ TableChoice cheapest_table(const EncodeTables& tables, BinCounts counts,
                                                      uint32_t zeros, uint32_t others) {
  counts.halves[7] = (counts.halves[7] & 0xFFFF) | zeros << 16;  // bin 15
  const uint32_t lane = device::lane_id();
  const uint32_t prices[4] = {tables.price[0][lane], tables.price[1][lane], tables.price[2][lane],
                              tables.price[3][lane]};
  const uint32_t cost = weigh(counts, prices) + others * tables.other_price[lane];
  const uint32_t key = warp_min(cost << 5 | lane);
  return {key & 31, key >> 5, zeros != 0};
}

// As the host's choose_table.
__device__ __forceinline__ TableChoice choose_table(const EncodeTables& tables,
                                                    const ExponentBytes& e, bool zero_is_below,
                                                    const WindowChoice& found) {
  BinCounts counts = found.counts;
  uint32_t zeros = 0, counted = found.counted;
  const uint32_t zero_bin = static_cast<uint32_t>(found.top) & 255;
  if (zero_bin < kBins) {
    const uint32_t taken = take_bin(counts, zero_bin);
    counted -= taken;
    if (!zero_is_below) zeros = taken;
  } else if (!zero_is_below && counted < kBlockValues) {
    zeros = count_zeros(e, kBlockValues);
  }
  return cheapest_table(tables, counts, zeros,
                        static_cast<uint32_t>(kBlockValues) - counted - zeros);
}

}  // namespace strait::codec::gpu
