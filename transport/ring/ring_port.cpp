#include "transport/ring/ring_port.hpp"

#include <algorithm>
#include <cstring>

namespace strait {

RingPort::RingPort(RingParts parts, RingSide side) : parts_(std::move(parts)), side_(side) {}

void RingPort::close() {
  RingHeader& header = *parts_.view.header;
  auto& gone = side_ == RingSide::kProducer ? header.producer_gone : header.consumer_gone;
  gone.store(1, std::memory_order_release);
  parts_.own->attach(nullptr);
  parts_.peer->ring();
}

int RingPort::peer_rank() const {
  return side_ == RingSide::kProducer ? parts_.spec.destination : parts_.spec.source;
}

std::string RingPort::name() const {
  return fmt::format("link {}->{} lane {}", parts_.spec.source, parts_.spec.destination,
                     parts_.spec.lane);
}

bool RingPort::peer_gone() const {
  const RingHeader& header = *parts_.view.header;
  const auto& gone = side_ == RingSide::kProducer ? header.consumer_gone : header.producer_gone;
  return gone.load(std::memory_order_acquire) != 0 || lost_.load(std::memory_order_acquire);
}

Status RingPort::status(bool drained) const {
  if (failed_.load(std::memory_order_acquire)) {
    std::lock_guard lock(mutex_);
    return failure_;
  }
  const uint32_t failure = parts_.view.header->failure.load(std::memory_order_acquire);
  if (failure == kFailed) return peer_failure();
  // A rank that died while it wrote its failure left a link that moves nothing more.
  if ((!drained && failure == kNoFailure) || !peer_gone()) return Status();
  // Closing in good order comes before the end of the process, so it is the better explanation.
  const RingHeader& header = *parts_.view.header;
  const auto& gone = side_ == RingSide::kProducer ? header.consumer_gone : header.producer_gone;
  if (gone.load(std::memory_order_acquire) != 0)
    return error(Code::kRemoteError, "peer rank {} closed the link ({})", peer_rank(), name());
  std::lock_guard lock(mutex_);
  return loss_.at(name());
}

bool RingPort::peer_gave_up() const {
  return !failed_.load(std::memory_order_acquire) &&
         parts_.view.header->failure.load(std::memory_order_acquire) == kFailed;
}

// What the other end wrote, taken with care: it may be any bytes.
Status RingPort::peer_failure() const {
  const RingHeader& header = *parts_.view.header;
  const auto& text = header.failure_text;
  const std::string message(text.data(), strnlen(text.data(), text.size()));
  return error(Code::kRemoteError, "rank {} gave up {}: {}", peer_rank(), name(),
               message.empty() ? "no reason given" : message);
}

void RingPort::abort(const Status& why) {
  STRAIT_CHECK(!why.ok(), "an abort has a reason");
  RingHeader& header = *parts_.view.header;
  uint32_t none = kNoFailure;
  if (header.failure.compare_exchange_strong(none, kWritingFailure, std::memory_order_acq_rel)) {
    auto& text = header.failure_text;
    const size_t bytes = std::min(why.message().size(), text.size() - 1);
    std::memcpy(text.data(), why.message().data(), bytes);
    text[bytes] = '\0';
    header.failure.store(kFailed, std::memory_order_release);
    fail(why);
  } else {
    // The other end was first: its reason is the one to tell.
    fail(status(true).ok() ? why : status(true));
  }
  parts_.peer->ring();
}

void RingPort::fail(Status why) {
  {
    std::lock_guard lock(mutex_);
    if (!failed_.load(std::memory_order_relaxed)) {
      failure_ = std::move(why);
      failed_.store(true, std::memory_order_release);
    }
  }
  parts_.own->ring();
}

void RingPort::lose_peer(const Status& why) {
  {
    std::lock_guard lock(mutex_);
    if (!lost_.load(std::memory_order_relaxed)) {
      loss_ = why;
      lost_.store(true, std::memory_order_release);
    }
  }
  parts_.own->ring();
}

}  // namespace strait
