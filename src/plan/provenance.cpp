#include "plan/provenance.hpp"

#include <algorithm>

namespace strait {

RankSets::Id RankSets::single(int rank) {
  Bits bits(static_cast<size_t>(rank_count_));
  bits[static_cast<size_t>(rank)] = true;
  return intern(bits);
}

RankSets::Id RankSets::all() {
  return intern(Bits(static_cast<size_t>(rank_count_), true));
}

RankSets::Id RankSets::intern(const Bits& bits) {
  const auto [found, added] = known_.try_emplace(bits, static_cast<Id>(sets_.size()));
  if (added) sets_.push_back(bits);
  return found->second;
}

std::optional<RankSets::Id> RankSets::unite(Id a, Id b) {
  const uint64_t key = uint64_t{std::min(a, b)} << 32 | std::max(a, b);
  if (const auto found = unions_.find(key); found != unions_.end()) return found->second;
  Bits bits = sets_[a];
  for (size_t i = 0; i < bits.size(); ++i) {
    if (bits[i] && sets_[b][i]) return std::nullopt;
    bits[i] = bits[i] || sets_[b][i];
  }
  return unions_[key] = intern(bits);
}

std::string RankSets::describe(Id id) const {
  const Bits& bits = sets_[id];
  std::string text;
  for (size_t i = 0; i < bits.size(); ++i) {
    if (!bits[i]) continue;
    size_t last = i;
    while (last + 1 < bits.size() && bits[last + 1]) ++last;
    if (!text.empty()) text += ',';
    text += last == i ? fmt::format("{}", i) : fmt::format("{}-{}", i, last);
    i = last;
  }
  return "{" + text + "}";
}

Origin Origin::advanced(uint64_t elements) const {
  Origin later = *this;
  later.index += elements;
  return later;
}

void append(Runs& runs, const Run& run) {
  if (run.count == 0) return;
  if (!runs.empty() && runs.back().first.advanced(runs.back().count) == run.first)
    runs.back().count += run.count;
  else
    runs.push_back(run);
}

Result<Runs> combine(RankSets& sets, const Runs& a, const Runs& b) {
  Runs sum;
  size_t i = 0;
  size_t j = 0;
  uint64_t done_a = 0;
  uint64_t done_b = 0;
  while (i < a.size() && j < b.size()) {
    const uint64_t count = std::min(a[i].count - done_a, b[j].count - done_b);
    const Origin left = a[i].first.advanced(done_a);
    const Origin right = b[j].first.advanced(done_b);
    if (left.index != right.index)
      return error(Code::kInternalError, "adds element {} of ranks {} to element {} of ranks {}",
                   left.index, sets.describe(left.ranks), right.index, sets.describe(right.ranks));
    if (left.finished || right.finished)
      return error(Code::kInternalError, "adds to element {}, which is finished", left.index);
    const std::optional<RankSets::Id> ranks = sets.unite(left.ranks, right.ranks);
    if (!ranks)
      return error(Code::kInternalError, "adds element {} of ranks {} to that of ranks {}: twice",
                   left.index, sets.describe(left.ranks), sets.describe(right.ranks));
    append(sum, {count, {.index = left.index, .ranks = *ranks}});
    done_a += count;
    done_b += count;
    if (done_a == a[i].count) {
      ++i;
      done_a = 0;
    }
    if (done_b == b[j].count) {
      ++j;
      done_b = 0;
    }
  }
  return sum;
}

Status finish(RankSets& sets, Runs& runs) {
  for (Run& run : runs) {
    if (run.first.finished)
      return error(Code::kInternalError, "finishes element {} a second time", run.first.index);
    if (run.first.ranks != sets.all())
      return error(Code::kInternalError, "finishes element {} with ranks {} only", run.first.index,
                   sets.describe(run.first.ranks));
    run.first.finished = true;
  }
  return {};
}

void ElementMap::cut(uint64_t address) {
  auto after = runs_.upper_bound(address);
  if (after == runs_.begin()) return;
  auto& [start, run] = *std::prev(after);
  const uint64_t kept = address - start;
  if (kept == 0 || kept >= run.count) return;
  runs_.emplace_hint(after, address, Run{run.count - kept, run.first.advanced(kept)});
  run.count = kept;
}

void ElementMap::write(uint64_t address, const Runs& runs) {
  uint64_t end = address;
  for (const Run& run : runs) end += run.count;
  cut(address);
  cut(end);
  runs_.erase(runs_.lower_bound(address), runs_.lower_bound(end));
  for (const Run& run : runs) {
    runs_.emplace(address, run);
    address += run.count;
  }
}

std::optional<ElementMap::Gap> ElementMap::read(uint64_t address, uint64_t count,
                                                Runs& runs) const {
  const uint64_t end = address + count;
  auto at = runs_.upper_bound(address);
  if (at != runs_.begin()) --at;
  while (address < end) {
    if (at == runs_.end() || at->first > address || at->first + at->second.count <= address)
      return Gap{address};
    const uint64_t skipped = address - at->first;
    const uint64_t taken = std::min(at->second.count - skipped, end - address);
    append(runs, {taken, at->second.first.advanced(skipped)});
    address += taken;
    ++at;
  }
  return std::nullopt;
}

}  // namespace strait
