#include "perf/comm_ops/timings.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/clock.hpp"

namespace strait::perf {

const char* name_of(Event event) {
  switch (event) {
    case Event::kBarrier:
      return "(Launcher) Barrier";
    case Event::kIds:
      return "(Launcher) Exchange of ncclUniqueId";
    case Event::kPrepare:
      return "(Host) Allocate mem and streams";
    case Event::kInit:
      return "NCCL ncclCommInitRankScalable";
    case Event::kSplit:
      return "NCCL ncclCommSplit";
    case Event::kGrow:
      return "NCCL ncclCommGrow";
    case Event::kAllReduce:
      return "NCCL ncclAllReduce";
    case Event::kFinalize:
      return "NCCL ncclCommFinalize";
    case Event::kDestroy:
      return "NCCL ncclCommDestroy";
    case Event::kAbort:
      return "NCCL ncclCommAbort";
    case Event::kShrink:
      return "NCCL ncclCommShrink";
    case Event::kSynchronize:
      return "(Host) Stream Synchronize";
  }
  return "unknown";
}

bool is_of_library(Event event) {
  switch (event) {
    case Event::kBarrier:
    case Event::kIds:
    case Event::kPrepare:
    case Event::kSynchronize:
      return false;
    default:
      return true;
  }
}

void Timings::Sum::add(const Entry& entry) {
  if (entry.took_part == 0) return;
  const double entry_ms = static_cast<double>(entry.ns) / 1e6;
  ++parts;
  ms += entry_ms;
  squares += entry_ms * entry_ms;
  max_ms = std::max(max_ms, entry_ms);
}

double Timings::Sum::mean() const {
  return parts > 0 ? ms / static_cast<double>(parts) : 0;
}

double Timings::Sum::deviation() const {
  if (parts < 2) return 0;
  return std::sqrt(std::max(0.0, squares / static_cast<double>(parts) - mean() * mean()));
}

Status Timings::time(Event event, bool takes_part, const std::function<Status()>& action) {
  const int64_t begin_ns = now_ns();
  if (takes_part) STRAIT_TRY(action());
  const int64_t end_ns = now_ns();
  if (!recording_) return {};
  entries_.push_back({static_cast<int>(event), takes_part ? 1 : 0, end_ns - begin_ns});
  if (entries_.size() >= static_cast<size_t>(options_.flush_interval)) flush();
  return {};
}

void Timings::flush() {
  const size_t count = entries_.size();
  const auto all = team_.exchange<Entry>(thread_, entries_);
  entries_.clear();
  for (size_t i = 0; i < count; ++i) {
    Sum round;
    for (size_t at = i; at < all.size(); at += count) round.add(all[at]);
    if (round.parts == 0) continue;
    const auto event = static_cast<Event>(all[i].event);
    if (options_.verbose && shown(event)) tell(event, round);
    Sum& sum = sums_[static_cast<size_t>(all[i].event)];
    ++sum.rounds;
    for (size_t at = i; at < all.size(); at += count) sum.add(all[at]);
  }
}

void Timings::tell(Event event, const Sum& sum) const {
  if (thread_ != 0 || team_.launcher().rank() != 0) return;
  std::printf("%36s: Max %9.3f ms, Avg %8.3f ms, Stddev %8.3f ms, [%4d/%4d]\n", name_of(event),
              sum.max_ms, sum.mean(), sum.deviation(), static_cast<int>(sum.parts), comm_size_);
  std::fflush(stdout);
}

std::vector<std::string> Timings::summary() const {
  std::vector<std::string> lines;
  for (int i = 0; i < kEventCount; ++i) {
    const Sum& sum = sums_[static_cast<size_t>(i)];
    if (sum.rounds == 0 || !shown(static_cast<Event>(i))) continue;
    lines.push_back(
        fmt::format("SUMMARY: Comm size {:4}, {:>36}: Max {:8.3f} ms, Avg {:8.3f} ms, "
                    "Stddev {:8.3f} ms, Collectives {:3}",
                    comm_size_, name_of(static_cast<Event>(i)), sum.max_ms, sum.mean(),
                    sum.deviation(), sum.rounds));
  }
  return lines;
}

}  // namespace strait::perf
