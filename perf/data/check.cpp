#include "perf/data/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "perf/data/number.hpp"

namespace strait::perf {
namespace {

constexpr uint64_t kBlock = 4096;
constexpr int64_t kUlpsAllowed = 2;

template <class T>
uint64_t bits_of(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}

// Floats as integers in the order of their values, neighbours one apart, so that a difference
// counts units of the last place.
template <class T>
int64_t ordered(T value) {
  const uint64_t sign_bit = uint64_t{1} << (8 * sizeof(T) - 1);
  const uint64_t bits = bits_of(value);
  const auto magnitude = static_cast<int64_t>(bits & (sign_bit - 1));
  return (bits & sign_bit) != 0 ? -magnitude : magnitude;
}

template <class T>
bool within_ulps(T result, T expected) {
  return std::isfinite(load(result)) && std::isfinite(load(expected)) &&
         std::abs(ordered(result) - ordered(expected)) <= kUlpsAllowed;
}

// Each addition and each rounding on the way loses at most half a unit of the sum of magnitudes.
template <class T>
bool within_rounding(T result, T expected, double magnitude, int rank_count) {
  const double unit = std::ldexp(1.0, -precision_bits<T>());
  const double smallest = kIsSmallFloat<T> ? std::ldexp(1.0, -24) : 0.0;
  const double bound = 2.0 * rank_count * (unit * magnitude + smallest);
  return std::fabs(static_cast<double>(load(result)) - static_cast<double>(load(expected))) <=
         bound;
}

template <class T>
void note(Mismatch* mismatch, uint64_t index, uint64_t count, T result, T expected) {
  if (mismatch->wrong++ > 0) return;
  const auto show = [](T value) {
    return fmt::format("{} ({:#0{}x})", load(value), bits_of(value), 2 + 2 * sizeof(T));
  };
  mismatch->first = fmt::format("element {} of {}: got {}, expected {}", index, count, show(result),
                                show(expected));
}

template <class T>
struct Pair {
  T result, expected;
};

template <class T>
Pair<T> pair_at(const std::byte* result, const std::byte* expected, uint64_t index) {
  Pair<T> pair;
  std::memcpy(&pair.result, result + index * sizeof(T), sizeof(T));
  std::memcpy(&pair.expected, expected + index * sizeof(T), sizeof(T));
  return pair;
}

template <class T>
bool tolerated(Match match, const Pair<T>& pair, double magnitude, int rank_count) {
  if constexpr (kIsFloat<T>) {
    if (match == Match::kTwoUlps) return within_ulps(pair.result, pair.expected);
    if (match == Match::kAnyOrder)
      return within_rounding(pair.result, pair.expected, magnitude, rank_count);
  }
  return false;
}

}  // namespace

Mismatch check_result(const Reference& reference, const Problem& problem, uint64_t first,
                      uint64_t count, const std::byte* result, const std::byte* expected) {
  const Match match = reference.match(problem);
  if (match == Match::kBits) return check_bytes(problem.type, count, result, expected);
  Mismatch mismatch;
  with_type(problem.type, [&]<class T>(T) {
    for (uint64_t block = 0; block < count; block += kBlock) {
      const uint64_t size = std::min(kBlock, count - block);
      if (std::memcmp(result + block * sizeof(T), expected + block * sizeof(T), size * sizeof(T)) ==
          0)
        continue;
      std::vector<double> scale(size, 0.0);
      if (match == Match::kAnyOrder) scale = reference.magnitudes(problem, first + block, size);
      for (uint64_t i = 0; i < size; ++i) {
        const Pair<T> pair = pair_at<T>(result, expected, block + i);
        if (bits_of(pair.result) != bits_of(pair.expected) &&
            !tolerated(match, pair, scale[i], problem.rank_count))
          note(&mismatch, block + i, count, pair.result, pair.expected);
      }
    }
  });
  return mismatch;
}

Mismatch check_bytes(DataType type, uint64_t count, const std::byte* result,
                     const std::byte* expected) {
  Mismatch mismatch;
  if (count == 0 || std::memcmp(result, expected, count * size_of(type)) == 0) return mismatch;
  with_type(type, [&]<class T>(T) {
    for (uint64_t i = 0; i < count; ++i) {
      const Pair<T> pair = pair_at<T>(result, expected, i);
      if (bits_of(pair.result) != bits_of(pair.expected))
        note(&mismatch, i, count, pair.result, pair.expected);
    }
  });
  return mismatch;
}

}  // namespace strait::perf
