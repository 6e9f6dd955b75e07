// Life: what one rank does in a test of communicators of one size: makes them, works on them,
// changes them, ends them, and takes the time of each. Ranks beyond the size go along and do
// nothing. Lives for one size; used by its thread alone.
#pragma once

#include <nccl.h>

#include <vector>

#include "perf/comm_ops/timings.hpp"
#include "perf/engine/rank_device.hpp"

namespace strait::perf {

class Life {
 public:
  // `rank` of the program; communicators have the ranks below `size`. The device has a stream.
  Life(const CommOptions& options, Team& team, RankDevice& device, int thread, int rank, int size);
  ~Life();
  Life(const Life&) = delete;
  Life& operator=(const Life&) = delete;

  Status run();
  std::vector<std::string> summary() const { return timings_.summary(); }
  // Elements of the collectives between that came out wrong, on this rank.
  uint64_t wrong() const { return wrong_; }

 private:
  Status prepare();
  Status init_test();
  Status resize_test();  // split and shrink
  Status grow_test();
  // A communicator of the first `count` ranks; NULL for the others.
  Result<ncclComm_t> make(int count);
  Result<ncclComm_t> split(ncclComm_t parent);
  Result<ncclComm_t> shrink(ncclComm_t parent);
  Result<ncclComm_t> grow(ncclComm_t smaller);
  Status work(ncclComm_t comm);
  Status check(ncclComm_t comm);
  Status end(ncclComm_t comm);
  Status barrier();
  bool is_root(int rank) const;
  int color(int rank) const { return resize_color(options_.resize, rank, size_); }
  ncclConfig_t config() const;

  const CommOptions& options_;
  Team& team_;
  RankDevice& device_;
  const int thread_, rank_, size_;
  Timings timings_;
  uint64_t wrong_ = 0;
  void* input_ = nullptr;
  void* output_ = nullptr;
};

}  // namespace strait::perf
