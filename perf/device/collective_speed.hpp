// How long an all-reduce of several ranks on one GPU takes, by size, with whichever libnccl is
// named. Ranks are threads. Blocks for some seconds; the records are rank 0's.
#pragma once

#include <cstddef>
#include <string>

#include "base/status.hpp"

namespace strait::device_check {

struct CollectiveSpeedTerms {
  std::string library;  // path of libnccl
  std::string name;     // of it, in the records
  int rank_count = 1;
  size_t bytes_min = 1 << 10;
  size_t bytes_max = size_t{256} << 20;
  int runs = 11;  // of which the median counts
};

Status measure_all_reduce(const CollectiveSpeedTerms& terms);

}  // namespace strait::device_check
