// Traffic: how many bytes each rank sends to each other one in an uneven all-to-all: from a formula
// that gives distant ranks more, or from a file. A value, made from the environment before anything
// is measured, then only read; any thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.hpp"

namespace strait::perf {

class Traffic {
 public:
  using Lookup = std::function<const char*(const char* name)>;

  // Reads NCCL_TESTS_ALLTOALLV_SPREAD (0: even, 1: by distance), _MATRIX_FILE, _MATRIX_SCALE and
  // _PRINT_SUMMARY.
  static Result<Traffic> read(const Lookup& lookup);
  // The rows of a file: as many numbers in each as there are rows, separated by white space.
  static Result<Traffic> parse_matrix(const std::string& text, const std::string& name,
                                      double scale);
  static Traffic spread_out(double spread);

  bool is_matrix() const { return dimension_ > 0; }
  bool prints_summary() const { return prints_summary_; }
  // Largest number of ranks it can be asked about; 0: any.
  int dimension() const { return dimension_; }
  const std::string& name() const { return name_; }
  double spread() const { return spread_; }
  double scale() const { return scale_; }

  // Whole 16 bytes. total_bytes: what each rank sends in all, where no file says it.
  uint64_t bytes(int from, int to, int rank_count, uint64_t total_bytes) const;
  uint64_t sent(int rank, int rank_count, uint64_t total_bytes) const;
  uint64_t received(int rank, int rank_count, uint64_t total_bytes) const;
  // The most that any rank sends or receives.
  uint64_t most(int rank_count, uint64_t total_bytes) const;

 private:
  bool prints_summary_ = false;
  double spread_ = 1;
  double scale_ = 1;
  std::string name_;
  int dimension_ = 0;
  std::vector<uint64_t> matrix_;
};

}  // namespace strait::perf
