// GpuOneSided: what the host does for it: sends on what goes by links, writes and counts what comes
// by them, and ends waits that have lasted too long.

#include <atomic>
#include <cstring>

#include "exec/cuda/one_sided.hpp"

namespace strait {
namespace {

// The last signals of a peer that leaves are in place before its link ends, and a wait sees them.
constexpr int64_t kGoneNs = 1'000'000'000;

template <class Word>
Word read(const Word& word) {
  return std::atomic_ref(const_cast<Word&>(word)).load(std::memory_order_acquire);
}

const OneSidedReport& report_in(const cuda::PinnedMemory& memory) {
  return *reinterpret_cast<const OneSidedReport*>(memory.data());
}

}  // namespace

std::optional<GpuOneSided::Outgoing> GpuOneSided::outgoing() const {
  const uint64_t next = ring_next_.load();
  const auto posted = ring_.posted(next);
  if (!posted) return std::nullopt;
  RingHeader header;
  std::memcpy(&header, ring_.slot(next), sizeof header);
  return Outgoing{.peer = header.peer,
                  .header = header.put,
                  .bytes = {ring_.slot(next) + sizeof header, header.put.bytes}};
}

void GpuOneSided::sent() {
  ring_.set_released(ring_next_.fetch_add(1) + 1);
}

Status GpuOneSided::write(std::byte* target, std::span<const std::byte> bytes) {
  STRAIT_ASSIGN(const auto scope, cuda::ContextScope::enter(driver_, context_.get()));
  STRAIT_TRY(cuda::copy(driver_, cuda::device_pointer(target), cuda::device_pointer(bytes.data()),
                        bytes.size(), own_stream_.get()));
  return cuda::wait_idle(driver_, own_stream_.get(), Deadline::after_ms(terms_.timeout_ms));
}

void GpuOneSided::add(const SignalName& name) {
  auto* counts = reinterpret_cast<uint64_t*>(by_link_.data());
  // Partner: untaken() of one_sided.cu.
  std::atomic_ref(counts[terms_.shape.place(name)]).fetch_add(1, std::memory_order_release);
}

Status GpuOneSided::look_at_waits(const std::function<Status(int peer)>& gone) {
  const int64_t now = now_ns();
  for (size_t i = 0; i < seen_.size(); ++i) {
    const WaitRecord& record = report_in(report_memory_).waits[i];
    const Seen found{.number = read(record.number),
                     .have = read(record.have),
                     .place = read(record.place),
                     .since_ns = now};
    Seen& seen = seen_[i];
    const bool same =
        found.number == seen.number && found.have == seen.have && found.place == seen.place;
    if (!same) seen = found;
    if (!same || found.number == 0) continue;
    const int64_t waited_ns = now - seen.since_ns;
    const SignalName name = terms_.shape.name(found.place);
    if (waited_ns > kGoneNs) STRAIT_TRY(gone(name.peer));
    if (waited_ns > terms_.timeout_ms * 1'000'000)
      return error(Code::kTimeout,
                   "{} of {} signals {} in context {} have come from rank {}; look at that rank, "
                   "or raise STRAIT_TIMEOUT_MS",
                   found.have, read(record.need), name.index, name.context, name.peer);
  }
  return Status();
}

bool GpuOneSided::has_puts() const {
  return read(report_in(report_memory_).puts_finished) != puts_launched_.load() ||
         ring_.posted(ring_next_.load()).has_value();
}

bool GpuOneSided::busy() const {
  return read(report_in(report_memory_).finished) != launched_.load() || has_puts();
}

// A context that is broken or gone runs nothing.
bool GpuOneSided::has_left() {
  if (read(report_in(report_memory_).finished) == launched_.load()) return true;
  const auto scope = cuda::ContextScope::enter(driver_, context_.get());
  return !scope.ok() || !cuda::is_idle(driver_, own_stream_.get()).ok();
}

uint64_t GpuOneSided::memory_bytes() const {
  return own_.bytes() + report_memory_.bytes() + by_link_.bytes() +
         terms_.slots * ring_.slot_bytes() +
         PeerRings::published_bytes(board_.pointer() != 0 ? by_link_.bytes() : 0);
}

}  // namespace strait
