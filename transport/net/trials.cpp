#include "transport/net/trials.hpp"

namespace strait::net {
namespace {

constexpr int64_t kPatienceNs = 10'000'000'000;
constexpr int64_t kSweepNs = 200'000'000;

bool over(RecvLink& end) {
  while (!end.recv_slot().bytes.empty()) end.release();
  return !end.status().ok();
}

}  // namespace

Trials::~Trials() {
  uint64_t timer = 0;
  {
    std::lock_guard lock(mutex_);
    timer = timer_;
  }
  if (timer != 0) reactor_->cancel(timer);
}

void Trials::add(std::unique_ptr<RecvLink> end) {
  std::lock_guard lock(mutex_);
  trials_.push_back({std::move(end), now_ns() + kPatienceNs});
  if (timer_ == 0) timer_ = reactor_->schedule(now_ns() + kSweepNs, [this] { sweep(); });
}

void Trials::sweep() {
  std::lock_guard lock(mutex_);
  trials_.remove_if([](Trial& trial) { return over(*trial.end) || now_ns() > trial.until_ns; });
  timer_ = trials_.empty() ? 0 : reactor_->schedule(now_ns() + kSweepNs, [this] { sweep(); });
}

}  // namespace strait::net
