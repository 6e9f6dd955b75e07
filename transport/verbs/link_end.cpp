#include "transport/verbs/link_end.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace strait::verbs {
namespace {

constexpr size_t kCompletionsAtOnce = 16;

}  // namespace

Status LinkEnd::make_queue(uint32_t sends, uint32_t receives, int access) {
  Queue::Terms terms = terms_.queue;
  terms.sends = sends;
  terms.receives = receives;
  terms.access = access;
  STRAIT_ASSIGN(Queue queue, Queue::create(terms, this));
  queue_.emplace(std::move(queue));
  return Status();
}

Status LinkEnd::make_flush_queue() {
  Queue::Terms terms = terms_.queue;
  terms.sends = terms.receives = 1;
  terms.access = IBV_ACCESS_REMOTE_READ;
  STRAIT_ASSIGN(Queue queue, Queue::create(terms, this));
  STRAIT_TRY(queue.start(queue.side()));
  flush_queue_.emplace(std::move(queue));
  return Status();
}

Status LinkEnd::listen(net::Stream stream, const net::Address& remote) {
  stream_ = std::move(stream);
  remote_ = remote.text();
  return terms_.reactor->add(stream_.get(), EPOLLIN, [this](uint32_t) { on_stream(); });
}

void LinkEnd::stop(const net::FrameHeader* farewell) {
  if (stream_) {
    terms_.reactor->remove(stream_.get());
    std::lock_guard lock(mutex_);  // a call-back that removed itself may still be leaving
    if (farewell != nullptr && !failure_.failed()) net::send_frame(stream_, *farewell, {});
    stream_.discard();
  }
  flush_queue_.reset();
  queue_.reset();  // waits for a call of on_completions() to be over: not under the mutex
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

void LinkEnd::fail_post(const char* what, int number) {
  fail(verbs_error(fmt::format("{} over {}: {}", path().link, path().port, what), number));
}

Status LinkEnd::start_queue(const Side& remote) {
  remote_side_ = remote;
  return queue_->start(remote).at(path().link);
}

void LinkEnd::drain() {
  drain(*queue_);
  if (flush_queue_) drain(*flush_queue_);
}

void LinkEnd::drain(Queue& queue) {
  std::array<ibv_wc, kCompletionsAtOnce> completions;
  int count = 0;
  do {
    count = queue.poll(completions);
    if (count < 0) return fail_post("polling for completions", EIO);
    for (int i = 0; i < count; ++i) {
      const ibv_wc& completion = completions[static_cast<size_t>(i)];
      if (completion.status == IBV_WC_SUCCESS)
        on_completion(completion);
      else if (!failure_.failed())
        fail(transfer_failed(path(), completion.status,
                             terms_.queue.device->calls().wc_status_str(completion.status),
                             completion.vendor_err,
                             terms_.queue.device->complaint(terms_.queue.port_number)));
    }
  } while (count == static_cast<int>(completions.size()));
}

void LinkEnd::on_completions() {
  {
    std::lock_guard lock(mutex_);
    armed_ = false;
    drain();
    on_room();
  }
  terms_.doorbell->ring();
}

void LinkEnd::on_stream() {
  std::lock_guard lock(mutex_);
  while (true) {
    switch (frames_.read(stream_)) {
      case net::FrameBuffer::Outcome::kMore:
        return;
      case net::FrameBuffer::Outcome::kFrame:
        if (frames_.header().kind != net::FrameKind::kReason) {
          on_frame(frames_.header(), frames_.body());
          break;
        }
        peer_gave_up_.store(true, std::memory_order_release);
        if (failure_.set(net::peer_reason(terms_.peer, frames_.body()))) terms_.doorbell->ring();
        break;
      case net::FrameBuffer::Outcome::kClosed: {
        const int number = errno;
        terms_.reactor->remove(stream_.get());
        drain();
        on_closed(net::connection_ended(spec_, terms_.peer, remote_, number));
        terms_.doorbell->ring();
        return;
      }
    }
  }
}

Path LinkEnd::path() const {
  const Side& side = queue_->side();
  const Gid far{.kind = terms_.queue.gid.kind, .bytes = remote_side_.gid};
  return {.peer = terms_.peer,
          .link = fmt::format("link {}->{} lane {}", spec_.source, spec_.destination, spec_.lane),
          .port = fmt::format("{}:{}", terms_.queue.device->name(), terms_.queue.port_number),
          .local = terms_.queue.gid.text(),
          .remote = far.text(),
          .kind = std::string(name_of(terms_.queue.gid.kind)),
          .mtu_bytes = 128 << std::clamp<uint8_t>(remote_side_.mtu, 1, side.mtu)};
}

}  // namespace strait::verbs
