// GpuEngine: its thread, which turns links while calls run and tells what goes wrong.

#include "exec/cuda/engine.hpp"
#include "plan/tag.hpp"

namespace strait {
namespace {

// Kernels cannot ring a doorbell, so their marks are looked at again and again: often while
// something moves, then at intervals that leave the processor to others.
constexpr int kLooksAtOnce = 64;
constexpr int64_t kPauseNs = 20'000;
constexpr int64_t kDeviceLookNs = 100'000'000;
// A peer may write its last message into our memory and leave: only if nothing moves for so long is
// it missed.
constexpr int64_t kGoneNs = 1'000'000'000;
constexpr int64_t kReportNs = 1'000'000'000;  // for a stopped kernel to say where it was

uint64_t read(const uint64_t& word) {
  return std::atomic_ref(const_cast<uint64_t&>(word)).load(std::memory_order_acquire);
}
uint32_t read(const uint32_t& word) {
  return std::atomic_ref(const_cast<uint32_t&>(word)).load(std::memory_order_acquire);
}

// What a tag cannot tell is the same in both texts.
Status wrong_call(const std::string& where, const std::string& theirs, const std::string& mine) {
  return error(Code::kInvalidUsage,
               "{}: a peer calls {} where this rank calls {}{}; all ranks must make the same calls "
               "in the same order, with the same count, type, operation and root",
               where, theirs, mine, theirs == mine ? " with another count or root" : "");
}

}  // namespace

bool GpuEngine::busy() {
  return read(report_->finished) != launched_.load() || !proxy_->idle();
}

// A kernel that found something wrong may have ended before anybody looked.
bool GpuEngine::is_to_watch() {
  return !stopped_.load() && (busy() || read(report_->complete) != 0);
}

bool GpuEngine::idle() {
  return !busy();
}

void GpuEngine::stop() {
  stopped_.store(true);
  // Partner: wait_for() of ports.cuh.
  if (report_ != nullptr) std::atomic_ref(report_->abort).store(1, std::memory_order_release);
  wake_.notify_all();
}

Status GpuEngine::drain(Deadline deadline) {
  while (busy() && !stopped_.load()) {
    if (deadline.passed())
      return error(Code::kTimeout, "{} calls are still running on GPU {}",
                   launched_.load() - read(report_->finished), terms_.device);
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return Status();
}

void GpuEngine::watch() {
  while (true) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return leaving_ || is_to_watch(); });
      if (leaving_) return;
    }
    uint64_t progress_seen = read(report_->progress);
    int64_t moved_ns = now_ns();
    int64_t device_seen_ns = moved_ns;
    int idle_looks = 0;
    while (is_to_watch()) {
      const uint32_t rung = terms_.doorbell->read();
      const auto moved = look_around(&progress_seen);
      const int64_t now = now_ns();
      Status failure = moved.status();
      const bool runs = read(report_->started) != read(report_->finished);
      if (moved.ok() && (*moved > 0 || !runs)) moved_ns = now;
      if (failure.ok() && now - device_seen_ns > kDeviceLookNs) {
        device_seen_ns = now;
        failure = device_failure();
        if (failure.ok()) failure = peer_failure();
      }
      if (failure.ok() && now - moved_ns > kGoneNs) failure = watched_links();
      if (failure.ok() && now - moved_ns > terms_.timeout_ms * 1'000'000) failure = stall();
      if (!failure.ok()) {
        stop();
        on_failure_(failure);
        break;
      }
      idle_looks = *moved > 0 ? 0 : idle_looks + 1;
      if (idle_looks > kLooksAtOnce) terms_.doorbell->wait(rung, Deadline::after_ns(kPauseNs));
    }
  }
}

// Turns the links and reads the kernels' reports; returns what moved.
Result<uint64_t> GpuEngine::look_around(uint64_t* progress_seen) {
  if (read(report_->complete) != 0) return kernel_failure();
  STRAIT_ASSIGN(uint64_t moved, proxy_->turn());
  const uint64_t progress = read(report_->progress);
  if (progress != *progress_seen) ++moved;
  *progress_seen = progress;
  return moved;
}

Status GpuEngine::watched_links() {
  std::lock_guard lock(watched_mutex_);
  for (const Watched& link : watched_) STRAIT_TRY(link.status());
  return Status();
}

Status GpuEngine::peer_failure() {
  std::lock_guard lock(watched_mutex_);
  for (const Watched& link : watched_)
    if (link.peer_gave_up()) return link.status();
  return Status();
}

// Who waits for whom. A kernel says so once it is stopped.
Status GpuEngine::stall() {
  stop();
  const Deadline deadline = Deadline::after_ns(kReportNs);
  while (read(report_->complete) == 0 && !deadline.passed())
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  const std::string what = fmt::format("nothing moved for {} ms", terms_.timeout_ms);
  const DeviceReport& report = *report_;
  if (read(report.complete) == 0 ||
      report.failure != static_cast<uint32_t>(DeviceFailure::kAborted))
    return error(Code::kTimeout,
                 "{} on GPU {}: a peer has not made the same call, or has stopped; look at the "
                 "other ranks, or raise STRAIT_TIMEOUT_MS",
                 what, terms_.device);
  return error(Code::kTimeout,
               "{}: {} on {} waits for {} rank {}, which has not made the same call, or has "
               "stopped; look at it, or raise STRAIT_TIMEOUT_MS",
               what, describe_tag(static_cast<uint32_t>(report.expected)), place_of(report),
               (report.found & 1) != 0 ? "a message of" : "room at", report.found >> 1);
}

std::string GpuEngine::place_of(const DeviceReport& report) const {
  return fmt::format("GPU {}, lane {}, step {}, round {}", terms_.device, report.lane,
                     report.step + 1, report.round + 1);
}

Status GpuEngine::kernel_failure() const {
  const DeviceReport& report = *report_;
  const std::string where = place_of(report);
  switch (static_cast<DeviceFailure>(report.failure)) {
    case DeviceFailure::kWrongTag:
      return wrong_call(where, describe_tag(static_cast<uint32_t>(report.found)),
                        describe_tag(static_cast<uint32_t>(report.expected)));
    case DeviceFailure::kWrongBytes:
      return error(Code::kInvalidUsage,
                   "{}: a peer sent {} bytes where {} were expected: give both ranks the same "
                   "count and type",
                   where, report.found, report.expected);
    case DeviceFailure::kDamaged:
      return error(Code::kRemoteError, "{}: a coded chunk arrived damaged", where);
    case DeviceFailure::kAborted:
    case DeviceFailure::kNone:
      break;
  }
  return error(Code::kInternalError, "{}: the kernel was stopped", where);
}

// What the driver knows of the context: an illegal address in any kernel ends them all.
Status GpuEngine::device_failure() {
  STRAIT_ASSIGN(const cuda::ContextScope scope, cuda::ContextScope::enter(driver_, context_.get()));
  return cuda::is_idle(driver_, own_stream_.get()).status();
}

}  // namespace strait
