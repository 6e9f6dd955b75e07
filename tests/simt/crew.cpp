#include "simt/crew.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <system_error>

#include "simt/block.hpp"
#include "simt/interrupt.hpp"

namespace strait::simt {
namespace {

// A block that has not noticed by then that it should stop never looks: a loop of plain reads.
constexpr auto kGrace = std::chrono::milliseconds(500);
constexpr auto kAgain = std::chrono::milliseconds(50);
constexpr size_t kReportsShown = 6;

// Fibres of a launch: each touches a page or two of its stack.
constexpr uint64_t kThreadsAtOnce = 65'536;

}  // namespace

uint3 block_index(const Dim3& grid, uint64_t number) {
  const auto x = static_cast<unsigned>(number % grid.x);
  const auto y = static_cast<unsigned>(number / grid.x % grid.y);
  return {x, y, static_cast<unsigned>(number / grid.x / grid.y)};
}

Crew::Crew(const Launch& launch, const std::function<void()>& body, const Options& options)
    : launch_(launch),
      body_(body),
      options_(options),
      blocks_(uint64_t{1} * launch.grid.x * launch.grid.y * launch.grid.z) {}

Status Crew::run() {
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.deadline_ms);
  std::unique_lock lock(mutex_);
  const uint64_t wanted = std::max(2u, std::thread::hardware_concurrency());
  const uint64_t threads = uint64_t{1} * launch_.block.x * launch_.block.y * launch_.block.z;
  carriers_.reserve(std::clamp<uint64_t>(kThreadsAtOnce / threads, 1, options_.blocks_at_once));
  for (uint64_t count = 0; count < wanted && start_carrier(); ++count) {
  }
  if (!ended_.wait_until(lock, deadline, [this] { return all_ended(); })) stop_at_deadline(lock);
  lock.unlock();
  for (Carrier& carrier : carriers_) carrier.thread.join();
  if (out_of_time_ && status_.ok()) return Status(Code::kTimeout, hang_text());
  return status_;
}

void Crew::stop_at_deadline(std::unique_lock<std::mutex>& lock) {
  out_of_time_ = true;
  stopped_.store(true, std::memory_order_relaxed);
  if (ended_.wait_for(lock, kGrace, [this] { return all_ended(); })) return;
  do {
    for (Carrier& carrier : carriers_) {
      if (!carrier.ended) interrupt(carrier.thread.native_handle());
    }
  } while (!ended_.wait_for(lock, kAgain, [this] { return all_ended(); }));
}

bool Crew::start_carrier() {
  if (stopped() || next_block_ + claiming_ >= blocks_) return false;
  if (carriers_.size() == carriers_.capacity()) return false;
  try {
    carriers_.push_back({std::thread(&Crew::carry, this, carriers_.size())});
  } catch (const std::system_error& problem) {
    status_ = error(Code::kSystemError, "{}: the system gives no thread for a block: {}",
                    launch_.name, problem.what());
    stopped_.store(true, std::memory_order_relaxed);
    return false;
  }
  ++running_;
  ++claiming_;
  return true;
}

void Crew::work() {
  Block block(*this);
  for (bool first = true;; first = false) {
    const auto number = next_block(first);
    if (!number.has_value()) return;
    block.run(*number);
  }
}

void Crew::carry(size_t index) {
  allow_interrupts();
  work();
  const std::lock_guard lock(mutex_);
  carriers_[index].ended = true;
  --running_;
  if (all_ended()) ended_.notify_all();
}

std::optional<uint64_t> Crew::next_block(bool first) {
  const std::lock_guard lock(mutex_);
  if (first) --claiming_;
  if (stopped() || next_block_ == blocks_) return std::nullopt;
  return next_block_++;
}

bool Crew::another_carrier() {
  const std::lock_guard lock(mutex_);
  return start_carrier();
}

void Crew::fail(Status status) {
  const std::lock_guard lock(mutex_);
  if (status_.ok()) status_ = std::move(status);
  stopped_.store(true, std::memory_order_relaxed);
}

void Crew::report(uint64_t block, std::string text) {
  const std::lock_guard lock(mutex_);
  if (out_of_time_) reports_.emplace_back(block, std::move(text));
}

std::string Crew::hang_text() const {
  auto reports = reports_;
  std::sort(reports.begin(), reports.end());
  std::string text =
      fmt::format("{}: did not end within {} ms", launch_.name, options_.deadline_ms);
  for (size_t at = 0; at < reports.size() && at < kReportsShown; ++at) {
    const uint3 index = block_index(launch_.grid, reports[at].first);
    text += fmt::format("{} block ({},{},{}): {}", at == 0 ? ":" : ";", index.x, index.y, index.z,
                        reports[at].second);
  }
  if (reports.size() > kReportsShown) {
    text += fmt::format("; and {} blocks more", reports.size() - kReportsShown);
  }
  if (next_block_ < blocks_) text += fmt::format("; {} blocks not started", blocks_ - next_block_);
  return text + "; see for whom they wait, or raise deadline_ms";
}

}  // namespace strait::simt
