#include "transport/throttle/held_sender.hpp"

#include <algorithm>
#include <cstdint>

namespace strait {
namespace {

// What departs so soon after the present moment goes now: one timer then serves a batch.
constexpr int64_t kBatchNs = 50'000;
constexpr double kWeight = 1.0 / 16;  // of a new measurement

}  // namespace

HeldSender::HeldSender(std::unique_ptr<SendLink> inner, const LinkSpec& spec,
                       std::shared_ptr<Reactor> reactor, Departure departure)
    : inner_(std::move(inner)),
      slot_bytes_(spec.slot_bytes),
      reactor_(std::move(reactor)),
      departure_(std::move(departure)),
      queue_(spec.slots) {}

HeldSender::~HeldSender() {
  uint64_t timer = 0;
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
    timer = timer_;
  }
  // Not under the lock: a running call-back wants it.
  if (timer != 0) reactor_->cancel(timer);
  pass_on(INT64_MAX);
}

std::span<std::byte> HeldSender::send_slot() {
  const std::span<std::byte> slot = inner_->send_slot();
  if (slot.empty()) return slot;
  std::lock_guard lock(mutex_);
  ++taken_;
  return slot;
}

void HeldSender::commit(size_t bytes, uint32_t tag) {
  STRAIT_CHECK(bytes > 0 && bytes <= slot_bytes_, "a message fills 1 byte to one slot");
  std::lock_guard lock(mutex_);
  post({.departs_ns = 0, .bytes = bytes, .tag = tag, .lent = nullptr});
}

uint64_t HeldSender::lend(std::span<const std::byte> bytes, uint32_t tag) {
  std::lock_guard lock(mutex_);
  post({.departs_ns = 0, .bytes = bytes.size(), .tag = tag, .lent = bytes.data()});
  return posted_;
}

void HeldSender::post(const Held& message) {
  STRAIT_CHECK(taken_ > 0, "no slot was taken");
  --taken_;
  ++posted_;
  const int64_t now = now_ns();
  const int64_t began_ns = std::max(last_departs_ns_, now);
  last_departs_ns_ = std::max(last_departs_ns_, departure_(message.bytes));
  if (held_ == 0 && last_departs_ns_ <= now) return pass_on(message);
  note_rate(message.bytes, last_departs_ns_ - began_ns);
  // A transport may lend more slots than the link has, when messages wait at the far end.
  if (held_ == queue_.size()) {
    std::rotate(queue_.begin(), queue_.begin() + static_cast<ptrdiff_t>(first_), queue_.end());
    first_ = 0;
    queue_.resize(2 * queue_.size());
  }
  Held& held = queue_[(first_ + held_) % queue_.size()];
  held = message;
  held.departs_ns = last_departs_ns_;
  ++held_;
  if (timer_ == 0) arm();
}

void HeldSender::pass_on(const Held& message) {
  if (message.lent == nullptr) return inner_->commit(message.bytes, message.tag);
  inner_->lend({message.lent, message.bytes}, message.tag);
}

bool HeldSender::flushed() const {
  std::lock_guard lock(mutex_);
  return held_ == 0 && inner_->flushed();
}

LinkRate HeldSender::rate() {
  std::lock_guard lock(mutex_);
  if (ns_per_byte_ == 0) return {};
  return {.bytes_per_second = 1e9 / ns_per_byte_, .known = true};
}

// Times are averaged, not rates: what others left of the uplink comes in bursts.
void HeldSender::note_rate(size_t bytes, int64_t took_ns) {
  const double fresh = static_cast<double>(took_ns) / static_cast<double>(bytes);
  ns_per_byte_ = ns_per_byte_ == 0 ? fresh : ns_per_byte_ + kWeight * (fresh - ns_per_byte_);
}

void HeldSender::abort(const Status& why) {
  {
    std::lock_guard lock(mutex_);
    held_ = 0;
  }
  inner_->abort(why);
}

void HeldSender::arm() {
  timer_ = reactor_->schedule(queue_[first_].departs_ns, [this] {
    const int64_t now = now_ns();
    pass_on(now + kBatchNs);
    std::lock_guard lock(mutex_);
    timer_ = 0;
    if (held_ > 0 && !closing_) arm();
  });
}

void HeldSender::pass_on(int64_t until_ns) {
  std::lock_guard lock(mutex_);
  while (held_ > 0 && queue_[first_].departs_ns <= until_ns) {
    pass_on(queue_[first_]);
    first_ = (first_ + 1) % queue_.size();
    --held_;
  }
}

}  // namespace strait
