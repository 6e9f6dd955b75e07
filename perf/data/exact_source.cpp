#include "perf/data/exact_source.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "perf/data/number.hpp"

namespace strait::perf {
namespace {

constexpr uint64_t kElementStream = ~uint64_t{0};  // what all ranks know of an element
constexpr int kProductWindow = 4;

// How the ranks share one element: `window` of them, from a first one that moves with the element.
struct Sharing {
  int window = 1;
  int64_t magnitude = 1;  // the largest k of k * 2^e
};

template <class T>
Sharing sum_sharing(const Problem& problem) {
  const int factor = problem.kind == ReduceKind::kPreMulSum ? 2 : 1;
  const int64_t room = int64_t{1} << std::min(precision_bits<T>(), 40);
  const bool exact_division = std::has_single_bit(static_cast<unsigned>(problem.rank_count));
  int64_t window = std::min<int64_t>(problem.rank_count, room / factor);
  if (problem.kind == ReduceKind::kAvg && !exact_division) window = std::min<int64_t>(window, 2);
  return {static_cast<int>(window), room / (factor * window)};
}

// The rank's place in the element's window, or -1 outside.
int place_in_window(const Problem& problem, int window, uint64_t element_hash, int rank) {
  const int first = static_cast<int>(element_hash % static_cast<uint64_t>(problem.rank_count));
  const int place = (rank - first + problem.rank_count) % problem.rank_count;
  return place < window ? place : -1;
}

template <class T>
T sum_value(const Problem& problem, const Sharing& sharing, int rank, uint64_t index) {
  const uint64_t element = mix(kElementStream, index);
  if (place_in_window(problem, sharing.window, element, rank) < 0) return T{};
  const uint64_t own = mix(static_cast<uint64_t>(rank), index);
  int64_t k = static_cast<int64_t>((own >> 8) % static_cast<uint64_t>(sharing.magnitude + 1));
  if (problem.kind != ReduceKind::kAvg && (own & 1) != 0) k = -k;
  const float power = std::bit_cast<float>(static_cast<uint32_t>(127 - 4 + ((element >> 40) & 7))
                                           << 23);  // 2^-4 to 2^3
  using Wide = Accumulator<T>;
  return store<T>(static_cast<Wide>(k) * static_cast<Wide>(power));
}

template <class T>
T product_value(const Problem& problem, int rank, uint64_t index) {
  const uint64_t element = mix(kElementStream, index);
  const int window = std::min(kProductWindow, problem.rank_count);
  const int place = place_in_window(problem, window, element, rank);
  using Wide = Accumulator<T>;
  if (place < 0) return store<T>(Wide{1});
  const uint64_t own = mix(static_cast<uint64_t>(rank), index);
  Wide value = (own & 2) != 0 ? Wide{2} : static_cast<Wide>(0.5);
  if (place == 0) value *= static_cast<Wide>(1.0 + 0.25 * static_cast<double>(own >> 62));
  return store<T>((own & 1) != 0 ? -value : value);
}

template <class T>
T any_bits(int rank, uint64_t index) {
  const uint64_t hash = mix(static_cast<uint64_t>(rank), index);
  T value;
  std::memcpy(&value, &hash, sizeof(T));
  if constexpr (kIsFloat<T>) {
    const auto wide = load(value);
    if (!std::isfinite(wide) || wide == 0) return store<T>(static_cast<Accumulator<T>>(1));
  }
  return value;
}

template <class T>
T value_at(const Problem& problem, const Sharing& sharing, int rank, uint64_t index) {
  if constexpr (kIsFloat<T>) {
    switch (problem.kind) {
      case ReduceKind::kSum:
      case ReduceKind::kAvg:
      case ReduceKind::kPreMulSum:
        return sum_value<T>(problem, sharing, rank, index);
      case ReduceKind::kProd:
        return product_value<T>(problem, rank, index);
      case ReduceKind::kMin:
      case ReduceKind::kMax:
        break;
    }
  }
  return any_bits<T>(rank, index);
}

}  // namespace

void ExactSource::fill(const Problem& problem, int rank, uint64_t first, uint64_t count,
                       std::byte* out) const {
  with_type(problem.type, [&]<class T>(T) {
    Sharing sharing;
    if constexpr (kIsFloat<T>) sharing = sum_sharing<T>(problem);
    for (uint64_t i = 0; i < count; ++i) {
      const T value = value_at<T>(problem, sharing, rank, first + i);
      std::memcpy(out + i * sizeof(T), &value, sizeof(T));
    }
  });
}

}  // namespace strait::perf
