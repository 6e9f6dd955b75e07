#include "transport/ucx/send_link.hpp"

#include <cstring>

namespace strait::ucx {
Result<std::unique_ptr<SendEnd>> SendEnd::create(const LinkTerms& terms) {
  std::unique_ptr<SendEnd> end(new SendEnd(terms));
  STRAIT_TRY(end->prepare());
  std::lock_guard lock(end->mutex_);
  for (uint64_t i = 0; i < terms.spec.slots; ++i) end->expect_word(i);
  return end;
}

Status SendEnd::start(net::Stream stream, const net::Address& remote) {
  std::lock_guard lock(mutex_);
  STRAIT_TRY(find_peer());
  return listen(std::move(stream), remote);
}

SendEnd::~SendEnd() {
  net::FrameHeader farewell{.kind = net::FrameKind::kLeave};
  {
    std::lock_guard lock(mutex_);
    terms_.worker->progress();
    farewell.tag = static_cast<uint32_t>(landed_);
  }
  stop(farewell);
}

std::span<std::byte> SendEnd::send_slot() {
  if (failure_.failed()) return {};
  std::lock_guard lock(mutex_);
  const bool free =
      terms_.worker->look([this] { return taken_ < std::min(released_, landed_) + spec_.slots; });
  if (!free || failure_.failed()) return {};
  return flight_->slot(taken_++).first(spec_.slot_bytes);
}

void SendEnd::commit(size_t bytes, uint32_t tag) {
  STRAIT_CHECK(bytes >= 1 && bytes <= spec_.slot_bytes, "a message has 1 to slot_bytes bytes");
  std::lock_guard lock(mutex_);
  STRAIT_CHECK(committed_ < taken_, "commit without a taken slot");
  std::memcpy(flight_->slot(committed_).data() + bytes, &tag, sizeof tag);
  bytes_[committed_++ % spec_.slots] = bytes;
  post_committed();
}

SlotPlaces SendEnd::places() {
  std::lock_guard lock(mutex_);
  return flight_->places(taken_);
}

void SendEnd::post_committed() {
  if (!receiver_) return;
  while (posted_ < committed_ && !failure_.failed() && can_send()) {
    const uint64_t sequence = posted_++;
    const size_t bytes = bytes_[sequence % spec_.slots] + Flight::kTagBytes;
    meter_.posted();
    flight_->begin(flight_->message(sequence), sequence);
    terms_.worker->send(*endpoint_, flight_->message(sequence),
                        flight_->slot(sequence).first(bytes), tag_of(*receiver_, sequence),
                        Worker::Landing::kAcknowledged);
  }
}

void SendEnd::expect_word(uint64_t sequence) {
  flight_->begin(flight_->word(sequence), sequence);
  terms_.worker->receive(flight_->word(sequence), {}, tag_of(id(), sequence));
}

bool SendEnd::flushed() {
  std::lock_guard lock(mutex_);
  return terms_.worker->look([this] {
    return landed_ == committed_ || received_in_all_ == static_cast<uint32_t>(committed_);
  });
}

LinkRate SendEnd::rate() {
  std::lock_guard lock(mutex_);
  return meter_.measure();
}

void SendEnd::on_landed(Operation& operation, ucs_status_t status) {
  if (failed(operation.is_word ? "waiting for a word of" : "sending to", status)) return;
  if (operation.is_word) {
    // Words may overtake each other.
    while (released_ < posted_ && flight_->word(released_).done)
      expect_word(released_++ + spec_.slots);
  } else {
    meter_.acknowledged(bytes_[operation.sequence % spec_.slots]);
    while (landed_ < posted_ && flight_->message(landed_).done) ++landed_;
  }
  ring();
}

void SendEnd::on_frame(const net::FrameHeader& header) {
  if (header.kind == net::FrameKind::kLeave) {
    received_in_all_ = header.tag;
    return;
  }
  if (receiver_)
    return fail(error(Code::kRemoteError,
                      "rank {} answered {} twice; run one version of the library on all ranks",
                      terms_.peer, place()));
  receiver_ = header.tag;
  post_committed();
  terms_.worker->arm();
}

void SendEnd::on_closed(const Status& why) {
  failure_.set(why);
}

}  // namespace strait::ucx
