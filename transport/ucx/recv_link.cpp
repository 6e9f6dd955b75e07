#include "transport/ucx/recv_link.hpp"

#include <cstring>

namespace strait::ucx {
Result<std::unique_ptr<RecvEnd>> RecvEnd::create(const LinkTerms& terms, uint32_t sender,
                                                 net::Stream& stream, const net::Address& remote) {
  std::unique_ptr<RecvEnd> end(new RecvEnd(terms, sender));
  STRAIT_TRY(end->prepare());
  std::lock_guard lock(end->mutex_);
  STRAIT_TRY(end->find_peer());
  for (uint64_t i = 0; i < terms.spec.slots; ++i) end->expect_message(i);
  terms.worker->arm();
  net::send_frame(stream, {.kind = net::FrameKind::kSide, .tag = end->id()}, {});
  STRAIT_TRY(end->listen(std::move(stream), remote));
  return end;
}

RecvEnd::~RecvEnd() {
  net::FrameHeader farewell{.kind = net::FrameKind::kLeave};
  {
    std::lock_guard lock(mutex_);
    farewell.tag = static_cast<uint32_t>(arrived_);
  }
  stop(farewell);
}

Message RecvEnd::peek(uint32_t ahead) {
  if (failure_.failed() || ahead >= spec_.slots) return {};
  std::lock_guard lock(mutex_);
  const uint64_t sequence = released_ + ahead;
  const bool there = terms_.worker->look([&] { return sequence < arrived_; });
  if (!there || failure_.failed()) return {};
  const size_t bytes = flight_->message(sequence).bytes - Flight::kTagBytes;
  const std::span<const std::byte> slot = flight_->slot(sequence);
  uint32_t tag = 0;
  std::memcpy(&tag, slot.data() + bytes, sizeof tag);
  return {.bytes = slot.first(bytes), .tag = tag};
}

SlotPlaces RecvEnd::places() {
  std::lock_guard lock(mutex_);
  return flight_->places(released_);
}

void RecvEnd::release() {
  std::lock_guard lock(mutex_);
  STRAIT_CHECK(released_ < arrived_, "release without a message");
  ++released_;
  expect_message(released_ - 1 + spec_.slots);
  tell_released();
}

void RecvEnd::expect_message(uint64_t sequence) {
  flight_->begin(flight_->message(sequence), sequence);
  terms_.worker->receive(flight_->message(sequence), flight_->slot(sequence),
                         tag_of(id(), sequence));
}

// A word whose operation is still under way waits for its end.
void RecvEnd::tell_released() {
  while (told_ < released_ && can_send() && left_.ok() && !failure_.failed()) {
    Operation& word = flight_->word(told_);
    if (word.under_way) return;
    flight_->begin(word, told_);
    terms_.worker->send(*endpoint_, word, {}, tag_of(sender_, told_++), Worker::Landing::kLeft);
  }
}

Status RecvEnd::status() {
  if (failure_.failed()) return failure_.status();
  std::lock_guard lock(mutex_);
  // What the sender's worker sent is here or will be in a moment.
  if (left_.ok() || released_ < arrived_ || awaits_more()) return Status();
  return left_;
}

void RecvEnd::on_landed(Operation& operation, ucs_status_t status) {
  if (failed(operation.is_word ? "giving a slot back to" : "receiving from", status)) return;
  if (operation.is_word) return tell_released();
  if (operation.bytes <= Flight::kTagBytes)
    return fail(error(Code::kRemoteError,
                      "rank {} sent {} bytes, which is no message of {}; run one version of the "
                      "library on all ranks",
                      terms_.peer, operation.bytes, place()));
  while (arrived_ < released_ + spec_.slots && flight_->message(arrived_).done) ++arrived_;
  ring();
}

void RecvEnd::on_frame(const net::FrameHeader& header) {
  if (header.kind == net::FrameKind::kLeave) sent_ = header.tag;
}

void RecvEnd::on_closed(const Status& why) {
  left_ = why;
}

}  // namespace strait::ucx
