#include "perf/data/reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "perf/data/number.hpp"

namespace strait::perf {
namespace {

constexpr uint64_t kBlock = 4096;  // elements at once, so that all ranks' parts stay in cache

template <class Wide>
Wide combine(ReduceKind kind, Wide a, Wide b) {
  switch (kind) {
    case ReduceKind::kMin:
      return std::min(a, b);
    case ReduceKind::kMax:
      return std::max(a, b);
    case ReduceKind::kProd:
      if constexpr (std::is_integral_v<Wide>)  // wraps, without the overflow of a signed product
        return static_cast<Wide>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
      else
        return a * b;
    case ReduceKind::kSum:
    case ReduceKind::kAvg:
    case ReduceKind::kPreMulSum:
      break;
  }
  if constexpr (std::is_integral_v<Wide>)
    return static_cast<Wide>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  else
    return a + b;
}

// A rank's own value as it enters the reduction: averages of floats are scaled here, not at the
// end.
template <class T>
Accumulator<T> enter(const Problem& problem, int rank, T value) {
  const Accumulator<T> wide = load(value);
  if (problem.kind == ReduceKind::kPreMulSum)
    return load(store<T>(
        combine(ReduceKind::kProd, wide, static_cast<Accumulator<T>>(premultiplier(rank)))));
  if constexpr (kIsFloat<T>)
    if (problem.kind == ReduceKind::kAvg)
      return load(store<T>(wide * static_cast<Accumulator<T>>(1.0 / problem.rank_count)));
  return wide;
}

template <class T>
void reduce_block(const Problem& problem, const Source& source,
                  const std::map<int, std::vector<int>>& domains, uint64_t first, uint64_t count,
                  std::byte* out) {
  using Wide = Accumulator<T>;
  std::vector<T> input(count);
  std::vector<Wide> total(count), partial(count);
  bool first_domain = true;
  for (const auto& [domain, ranks] : domains) {
    for (size_t place = 0; place < ranks.size(); ++place) {
      source.fill(problem, ranks[place], first, count, reinterpret_cast<std::byte*>(input.data()));
      for (uint64_t i = 0; i < count; ++i) {
        const Wide value = enter<T>(problem, ranks[place], input[i]);
        partial[i] = place == 0 ? value : combine(problem.kind, partial[i], value);
      }
    }
    for (uint64_t i = 0; i < count; ++i) {
      const Wide rounded = domains.size() == 1 ? partial[i] : load(store<T>(partial[i]));
      total[i] = first_domain ? rounded : combine(problem.kind, total[i], rounded);
    }
    first_domain = false;
  }
  for (uint64_t i = 0; i < count; ++i) {
    Wide value = total[i];
    if constexpr (std::is_integral_v<T>)
      if (problem.kind == ReduceKind::kAvg)
        value = static_cast<Wide>(value / static_cast<Wide>(problem.rank_count));
    const T narrow = store<T>(value);
    std::memcpy(out + i * sizeof(T), &narrow, sizeof(T));
  }
}

std::map<int, std::vector<int>> ranks_by_domain(const std::vector<int>& domain_of) {
  std::map<int, std::vector<int>> domains;
  for (size_t rank = 0; rank < domain_of.size(); ++rank)
    domains[domain_of[rank]].push_back(static_cast<int>(rank));
  return domains;
}

}  // namespace

Match Reference::match(const Problem& problem) const {
  const bool scaled_floats = problem.kind == ReduceKind::kAvg && is_float(problem.type);
  if (source_.exact_in_any_order()) return scaled_floats ? Match::kTwoUlps : Match::kBits;
  // Where a scaled value is rounded on its way is the algorithm's business, as the order is.
  const bool scaled = scaled_floats || problem.kind == ReduceKind::kPreMulSum;
  const bool ordered = problem.kind != ReduceKind::kMin && problem.kind != ReduceKind::kMax;
  if (is_float(problem.type) && ordered && (any_order_ || scaled)) return Match::kAnyOrder;
  return Match::kBits;
}

void Reference::reduce(const Problem& problem, uint64_t first, uint64_t count,
                       std::byte* out) const {
  const auto domains = ranks_by_domain(domain_of_);
  with_type(problem.type, [&]<class T>(T) {
    for (uint64_t done = 0; done < count; done += kBlock)
      reduce_block<T>(problem, source_, domains, first + done, std::min(kBlock, count - done),
                      out + done * sizeof(T));
  });
}

std::vector<double> Reference::magnitudes(const Problem& problem, uint64_t first,
                                          uint64_t count) const {
  std::vector<double> sums(count, problem.kind == ReduceKind::kProd ? 1.0 : 0.0);
  with_type(problem.type, [&]<class T>(T) {
    std::vector<T> input(count);
    for (int rank = 0; rank < problem.rank_count; ++rank) {
      source_.fill(problem, rank, first, count, reinterpret_cast<std::byte*>(input.data()));
      for (uint64_t i = 0; i < count; ++i) {
        const double value = std::fabs(static_cast<double>(enter<T>(problem, rank, input[i])));
        sums[i] = problem.kind == ReduceKind::kProd ? sums[i] * value : sums[i] + value;
      }
    }
  });
  return sums;
}

}  // namespace strait::perf
