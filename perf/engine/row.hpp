// Row: one line of the result table, and the statistics it is made of. Plain values, made by the
// workers and handed to the reports; any thread. Statistics cost one sort of the times.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/types.hpp"

namespace strait::perf {

struct Statistics {
  double min_us = 0, max_us = 0, mean_us = 0, p50_us = 0, p95_us = 0, p99_us = 0;
  double deviation_us = 0;
  double variation_percent = 0;  // standard deviation over mean
};

// The value below which `fraction` of the sorted values lie (nearest rank).
inline double percentile(const std::vector<double>& sorted, double fraction) {
  const double rank = std::ceil(fraction * static_cast<double>(sorted.size()));
  return sorted[static_cast<size_t>(std::max(rank, 1.0)) - 1];
}

inline Statistics statistics_of(std::vector<double> times_us) {
  if (times_us.empty()) return {};
  std::sort(times_us.begin(), times_us.end());
  const auto count = static_cast<double>(times_us.size());
  double sum = 0, squares = 0;
  for (const double time : times_us) sum += time;
  const double mean = sum / count;
  for (const double time : times_us) squares += (time - mean) * (time - mean);
  const double deviation = std::sqrt(squares / count);
  const size_t middle = times_us.size() / 2;
  const double median =
      times_us.size() % 2 == 1 ? times_us[middle] : (times_us[middle - 1] + times_us[middle]) / 2;
  return {times_us.front(),
          times_us.back(),
          mean,
          median,
          percentile(times_us, 0.95),
          percentile(times_us, 0.99),
          deviation,
          mean > 0 ? 100 * deviation / mean : 0};
}

// The single iterations, each as long as its slowest rank.
struct Iterations {
  Statistics statistics;  // without those that -K leaves out
  std::vector<double> times_us;
  std::vector<std::vector<double>> by_process;  // the slowest rank of each process
};

// One of the two halves of a row.
struct Side {
  double time_us = 0;
  double slowest_us = 0;      // of the ranks, however -a combines them
  double algorithm_gbps = 0;  // GB/s
  double bus_gbps = 0;
  std::optional<double> bound_percent;  // the shortest possible time over the slowest rank's
  std::optional<uint64_t> wrong;        // absent where nothing was checked
  std::optional<Iterations> each;       // where they were timed
};

// What one rank sent to one rank of another rack, per iteration; out of place.
struct LinkBytes {
  int from = 0, to = 0;      // ranks of the program
  uint64_t value_bytes = 0;  // before coding
  uint64_t wire_bytes = 0;
};

struct Row {
  uint64_t bytes = 0;
  uint64_t count = 0;
  DataType type = DataType::kFloat32;
  std::string kind;  // "sum", or "none"
  int root = -1;
  Side out_of_place, in_place;
  uint64_t wire_bytes = 0;   // between racks, per iteration, all ranks together; out of place
  double wire_saving = 0;    // percent of the values' bytes on those edges
  uint64_t result_hash = 0;  // XXH3 of rank 0's result, out of place
  int iterations = 0;
  double bound_us = 0;                 // the shortest possible time; 0: unknown, or nothing crosses
  std::vector<LinkBytes> links;        // where they were asked for
  std::vector<std::string> footnotes;  // of the collective
};

}  // namespace strait::perf
