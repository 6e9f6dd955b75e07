#include "transport/ucx/link_end.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>

namespace strait::ucx {
namespace {

// A peer that leaves or dies closes the stream too, which says it better.
constexpr int64_t kStreamFirstNs = 500'000'000;

}  // namespace

Status LinkEnd::prepare() {
  STRAIT_ASSIGN(flight_, Flight::allocate(spec_, terms_.worker->calls(), this));
  std::lock_guard lock(mutex_);
  id_ = terms_.worker->new_id();
  return Status();
}

Status LinkEnd::find_peer() {
  if (terms_.peer_worker.empty()) return Status();
  STRAIT_ASSIGN(endpoint_, terms_.worker->endpoint(terms_.peer, terms_.peer_worker));
  endpoint_->users.push_back(this);
  return Status();
}

Status LinkEnd::listen(net::Stream stream, const net::Address& remote) {
  stream_ = std::move(stream);
  remote_ = remote.text();
  return terms_.reactor->add(stream_.get(), EPOLLIN, [this](uint32_t) { on_stream(); });
}

void LinkEnd::stop(const net::FrameHeader& farewell) {
  if (stream_) terms_.reactor->remove(stream_.get());
  uint64_t timer = 0;
  {
    std::lock_guard lock(mutex_);  // a call-back that removed itself may still be leaving
    stopped_ = true;
    std::swap(timer, timer_);
    if (endpoint_ != nullptr) std::erase(endpoint_->users, static_cast<EndpointUser*>(this));
    if (stream_) {
      if (!failure_.failed()) net::send_frame(stream_, farewell, {});
      stream_.discard();
    }
    if (flight_) {
      flight_->detach();
      terms_.worker->cancel(flight_->messages());
      terms_.worker->cancel(flight_->words());
    }
  }
  if (timer != 0) terms_.reactor->cancel(timer);
}

void LinkEnd::abort(const Status& why) {
  std::lock_guard lock(mutex_);
  fail(why);
}

void LinkEnd::fail(const Status& why) {
  if (!failure_.set(why)) return;
  if (stream_) net::send_reason(stream_, why);
  terms_.doorbell->ring();
}

bool LinkEnd::failed(const char* what, ucs_status_t status) {
  if (status == UCS_OK) return false;
  // The endpoint tells by itself that it failed, and only a link that goes cancels.
  if (status == UCS_ERR_CANCELED || endpoint_ == nullptr || !endpoint_->failure.ok()) return true;
  fail(ucx_error(terms_.worker->calls(), fmt::format("{}: {} rank {}", place(), what, terms_.peer),
                 status));
  return true;
}

std::string LinkEnd::place() const {
  return fmt::format("link {}->{} lane {}", spec_.source, spec_.destination, spec_.lane);
}

void LinkEnd::on_endpoint_failed(const Status& why) {
  if (stopped_ || timer_ != 0) return;
  timer_ = terms_.reactor->schedule(now_ns() + kStreamFirstNs, [this, why] {
    std::lock_guard lock(mutex_);
    if (!stopped_ && needs_peer()) fail(why.at(place()));
  });
}

void LinkEnd::on_stream() {
  std::lock_guard lock(mutex_);
  while (true) {
    switch (frames_.read(stream_)) {
      case net::FrameBuffer::Outcome::kMore:
        return;
      case net::FrameBuffer::Outcome::kFrame:
        if (frames_.header().kind != net::FrameKind::kReason) {
          on_frame(frames_.header());
          break;
        }
        peer_gave_up_.store(true, std::memory_order_release);
        if (failure_.set(net::peer_reason(terms_.peer, frames_.body()))) terms_.doorbell->ring();
        break;
      case net::FrameBuffer::Outcome::kClosed: {
        const int number = errno;
        terms_.reactor->remove(stream_.get());
        terms_.worker->progress();
        on_closed(net::connection_ended(spec_, terms_.peer, remote_, number));
        terms_.doorbell->ring();
        return;
      }
    }
  }
}

}  // namespace strait::ucx
