// Communicator: how its work ends: drained, failed, aborted, or in good order.

#include <algorithm>

#include "base/log.hpp"
#include "comm/communicator.hpp"
#include "comm/hand_round.hpp"

namespace strait {
namespace {

constexpr int64_t kAbortWaitMs = 5'000;
constexpr int64_t kGraphsWaitMs = 10'000;
constexpr int64_t kDayMs = 86'400'000;

}  // namespace

// What runs on the GPU still tells its failures here.
Communicator::~Communicator() {
  if (rma_) rma_->close();
  gpu_.reset();
}

int64_t Communicator::wait_ms() const {
  return parts_.config.timeout_ms > 0 ? parts_.config.timeout_ms : kDayMs;
}

Status Communicator::drain(Deadline deadline) {
  {
    std::unique_lock lock(mutex_);
    const auto until =
        std::chrono::steady_clock::time_point(std::chrono::nanoseconds(deadline.at_ns()));
    if (!turn_changed_.wait_until(lock, until, [&] { return served_ == tickets_; }))
      return error(Code::kTimeout, "rank {}: {} calls are still running", parts_.rank,
                   tickets_ - served_);
  }
  if (gpu_) STRAIT_TRY(gpu_->engine().drain(deadline));
  while (true) {
    const uint32_t seen = parts_.station->doorbell->read();
    const auto one_sided = rma();
    const bool flushed = connections_.flushed() && (!one_sided || one_sided->idle());
    if (!failure().ok() || flushed) return Status();
    // A link rings when a slot leaves; the turn bounds the wait where a wrapper does not.
    const int64_t turn_ns = std::min<int64_t>(deadline.left_ns(), 1'000'000);
    if (!parts_.station->doorbell->wait(seen, Deadline::after_ns(turn_ns)) && deadline.passed())
      return error(Code::kTimeout, "rank {}: data already sent could not leave this process",
                   parts_.rank);
  }
}

Status Communicator::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

Status Communicator::failure_anywhere() {
  const Status told = gpu_ ? gpu_->engine().peer_failure() : Status();
  if (!told.ok()) fail(told);
  return failure();
}

// True when it is the first failure.
bool Communicator::stop(const Status& why) {
  const std::string& name = parts_.config.comm_name;
  const Status told = name.empty() ? why : why.at("communicator " + name);
  {
    std::lock_guard lock(mutex_);
    if (!failure_.ok()) return false;
    failure_ = told;
  }
  if (gpu_) gpu_->engine().stop();
  connections_.abort(told);
  if (const auto one_sided = rma()) one_sided->stop(told);
  parts_.station->doorbell->ring();
  return true;
}

void Communicator::fail(const Status& why) {
  if (stop(why)) log_warn("rank {}: {}", parts_.rank, failure().message());
}

void Communicator::end_work(const Status& why) {
  if (stop(why)) log_info("rank {}: {}", parts_.rank, failure().message());
  std::unique_lock lock(mutex_);
  turn_changed_.wait_for(lock, std::chrono::milliseconds(kAbortWaitMs),
                         [&] { return served_ == tickets_; });
}

void Communicator::abort() {
  const Status why = error(Code::kInvalidUsage, "the communicator was aborted");
  std::vector<std::shared_ptr<Communicator>> family;
  {
    std::lock_guard lock(parts_.station->mutex);
    for (const auto& user : parts_.station->users)
      if (auto member = user.lock()) family.push_back(std::move(member));
  }
  for (const auto& member : family) member->stop(why);
  for (const auto& member : family) member->end_work(why);
}

Status Communicator::wait_for_graphs() {
  const int64_t limit_ms = std::min(wait_ms(), kGraphsWaitMs);
  return gpu_ ? gpu_->engine().wait_for_graphs(Deadline::after_ms(limit_ms)) : Status();
}

Status Communicator::release_memory() {
  const uint64_t graphs = gpu_ ? gpu_->engine().graphs_alive() : 0;
  STRAIT_ASSIGN(const auto held, hand_round(*this, graphs));
  for (size_t rank = 0; rank < held.size(); ++rank)
    if (held[rank] > 0)
      return error(Code::kInvalidUsage,
                   "rank {} has graphs with {} calls of the communicator, whose replay would use "
                   "what suspending gives back: destroy them first",
                   rank, held[rank]);
  STRAIT_TRY(drain(Deadline::after_ms(wait_ms())));
  if (gpu_) gpu_->release_memory();
  plans_.forget_all();
  connections_.close();
  work_ = {};
  work_bytes_.store(0, std::memory_order_relaxed);
  return Status();
}

uint64_t Communicator::releasable_bytes() const {
  return connections_.memory_bytes() + work_bytes_.load(std::memory_order_relaxed) +
         (gpu_ ? gpu_->engine().releasable_bytes() : 0);
}

uint64_t Communicator::kept_bytes() const {
  const auto one_sided = rma();
  return parts_.station->doorbell_memory.bytes() + (one_sided ? one_sided->memory_bytes() : 0);
}

bool Communicator::is_quiet() const {
  std::lock_guard lock(mutex_);
  return served_ == tickets_;
}

}  // namespace strait
