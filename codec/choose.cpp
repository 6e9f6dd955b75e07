#include "codec/choose.hpp"

#include <algorithm>

#include "codec/user_tables.hpp"

namespace strait::codec {
namespace {

// Counts the exponents that matter, from a little above the mean down, and finds the windows.
void count_exponents(const Kernels& kernels, const uint8_t* bytes, size_t n, ExponentBins& bins,
                     WindowPlaces& places) {
  const auto values = static_cast<uint32_t>(n);
  bins.top = static_cast<int>(kernels.sum(bytes, n) / values) + kAboveMean;
  kernels.count(bytes, n, bins);
  kernels.find_windows(bins, n, places);
  if (places.counted >= values - values / 4) return;
  // Zeros may have pulled the mean away from the rest.
  const ExponentRange range = kernels.range(bytes, n);
  if (range.zeros == values) return;
  bins.top = static_cast<int>(range.sum / (values - range.zeros)) + kAboveMean;
  kernels.count(bytes, n, bins);
  kernels.find_windows(bins, n, places);
}

}  // namespace

Window choose_window(const Shape& shape, const Kernels& kernels, const uint8_t* bytes,
                     bool zero_is_below, size_t n, ExponentBins& bins) {
  WindowPlaces places;
  count_exponents(kernels, bytes, n, bins, places);
  const Window best = cheapest_window(shape, bins, places, zero_is_below, n);
  const size_t plane_bytes = bit_bytes(n);
  const size_t best_bytes = best.width * plane_bytes + best.escapes * shape.top_bytes();
  // A window that leaves nothing out can only win where the best so far is one plane, or more than
  // five.
  if (best_bytes > plane_bytes && best_bytes <= 5 * plane_bytes) return best;
  const Window all = window_of_all(shape, kernels.range(bytes, n), zero_is_below);
  return all.width * plane_bytes < best_bytes ? all : best;
}

TableChoice choose_table(const Kernels& kernels, const uint8_t* bytes, bool zero_is_below,
                         const ExponentBins& bins) {
  uint16_t counts[kPriced];
  uint32_t zeros = 0;
  if (!zero_is_below) zeros = static_cast<uint32_t>(kernels.count_zeros(bytes, kBlockValues, 0xFF));
  price_counts(bins.count, bins.top, zeros, counts);
  TableChoice choice;
  choice.table = kernels.cheapest_table(counts, choice.bits);
  if (has_user_tables()) try_user_tables(counts, choice.table, choice.bits);
  return choice;
}

void price_counts(const uint16_t bins[kBins], int top, uint32_t zeros, uint16_t counts[kPriced]) {
  uint32_t rest = kBlockValues - zeros;
  const int zero_bin = top & 255;
  for (int k = 0; k < kBins; ++k) {
    counts[k] = k == zero_bin ? uint16_t{0} : bins[k];
    rest -= counts[k];
  }
  counts[kPriced - 2] = static_cast<uint16_t>(zeros);
  counts[kPriced - 1] = static_cast<uint16_t>(rest);
}

}  // namespace strait::codec
