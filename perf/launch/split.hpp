// Split: which processes measure together, as NCCL_TESTS_SPLIT_MASK and NCCL_TESTS_SPLIT ask: each
// process has a colour, and those of one colour are a group with communicators of its own. A value;
// every process makes the same one, so that all of them agree before any waits for another.
#pragma once

#include <map>
#include <vector>

#include "perf/launch/environment.hpp"

namespace strait::perf {

class Split {
 public:
  // One group of all processes.
  explicit Split(int processes) : Split(std::vector<int>(static_cast<size_t>(processes), 0)) {}
  // NCCL_TESTS_SPLIT_MASK, a hexadecimal number: the colour is the process's number AND it.
  // NCCL_TESTS_SPLIT: "AND 3", "OR 1", "MOD 8", "DIV 8", or & | % / with a number.
  static Result<Split> read(const EnvironmentLookup& lookup, int processes);

  int color(int process) const { return colors_[static_cast<size_t>(process)]; }
  // The processes of one group, ascending.
  const std::vector<int>& members(int process) const { return groups_.at(color(process)); }
  int leader(int process) const { return members(process).front(); }
  int size(int process) const { return static_cast<int>(members(process).size()); }
  int index(int process) const;  // among the members
  const std::map<int, std::vector<int>>& groups() const { return groups_; }

 private:
  explicit Split(std::vector<int> colors);

  std::vector<int> colors_;  // by process
  std::map<int, std::vector<int>> groups_;
};

}  // namespace strait::perf
