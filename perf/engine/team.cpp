#include "perf/engine/team.hpp"

namespace strait::perf {

std::vector<std::byte> Team::exchange_bytes(int thread, std::span<const std::byte> values) {
  mine_[static_cast<size_t>(thread)].assign(values.begin(), values.end());
  local_barrier();
  if (thread == 0) {
    std::vector<std::byte> process;
    for (const auto& part : mine_) process.insert(process.end(), part.begin(), part.end());
    auto all = launcher_.all_gather(process);
    if (!all.ok()) fail_(all.status());
    all_ = std::move(*all);
  }
  local_barrier();
  std::vector<std::byte> result = all_;
  local_barrier();
  return result;
}

void Team::barrier(int thread) {
  local_barrier();
  if (thread == 0)
    if (const Status status = launcher_.barrier(); !status.ok()) fail_(status);
  local_barrier();
}

}  // namespace strait::perf
