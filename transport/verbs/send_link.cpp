#include "transport/verbs/send_link.hpp"

#include <arpa/inet.h>

namespace strait::verbs {
Result<std::unique_ptr<SendEnd>> SendEnd::create(const LinkTerms& terms) {
  STRAIT_ASSIGN(SlotMemory memory,
                SlotMemory::allocate(terms.spec, *terms.queue.device, 0, terms.slots_to_read));
  std::unique_ptr<SendEnd> end(new SendEnd(terms, std::move(memory)));
  // Each message that is under way can bring one word.
  STRAIT_TRY(end->make_queue(terms.spec.slots, terms.spec.slots + 1, 0));
  return end;
}

SendEnd::~SendEnd() {
  net::FrameHeader farewell{.kind = net::FrameKind::kLeave};
  if (queue_) {
    std::lock_guard lock(mutex_);
    drain();
    farewell.tag = static_cast<uint32_t>(acknowledged_);
  }
  stop(&farewell);
}

std::span<std::byte> SendEnd::send_slot() {
  if (failure_.failed()) return {};
  std::lock_guard lock(mutex_);
  const bool free =
      look([this] { return taken_ < std::min(released_, acknowledged_) + spec_.slots; });
  if (!free || failure_.failed()) return {};
  return {memory_.slot(taken_++), spec_.slot_bytes};
}

void SendEnd::commit(size_t bytes, uint32_t tag) {
  STRAIT_CHECK(bytes >= 1 && bytes <= spec_.slot_bytes, "a message has 1 to slot_bytes bytes");
  std::lock_guard lock(mutex_);
  STRAIT_CHECK(committed_ < taken_, "commit without a taken slot");
  entry(committed_++) = {.bytes = static_cast<uint32_t>(bytes), .tag = tag};
  post_committed();
}

SlotPlaces SendEnd::places() {
  std::lock_guard lock(mutex_);
  return memory_.places(taken_);
}

void SendEnd::post_committed() {
  if (!receiver_) return;
  for (; posted_ < committed_ && !failure_.failed(); ++posted_) {
    const Entry& message = entry(posted_);
    const Queue::Place there{receiver_->slots.address + posted_ % spec_.slots * memory_.stride(),
                             receiver_->slots.key};
    meter_.posted();
    const int number = write(posted_, message, there);
    if (number != 0) return fail_post("posting a message", number);
  }
}

int SendEnd::write(uint64_t sequence, const Entry& message, const Queue::Place& there) {
  const std::span<const std::byte> slot(memory_.slot(sequence), message.bytes);
  if (!memory_.on_gpu() || !memory_.head(sequence).used) {
    const Queue::Piece whole{slot, memory_.local_key()};
    return queue_->write({&whole, 1}, there, message.tag);
  }
  SlotHead& head = memory_.head(sequence);
  head.used = false;
  const Queue::Piece pieces[] = {{head.bytes, memory_.heads_key()},
                                 {slot.subspan(head.bytes.size()), memory_.local_key()}};
  return queue_->write(pieces, there, message.tag);
}

bool SendEnd::flushed() {
  std::lock_guard lock(mutex_);
  return look([this] { return acknowledged_ == committed_; });
}

LinkRate SendEnd::rate() {
  std::lock_guard lock(mutex_);
  return meter_.measure();
}

void SendEnd::on_completion(const ibv_wc& completion) {
  switch (static_cast<Work>(completion.wr_id)) {
    case Work::kReceive:
      if (const int number = queue_->receive_again(); number != 0)
        return fail_post("posting a receive", number);
      return on_word(ntohl(completion.imm_data));
    case Work::kWrite:
      meter_.acknowledged(entry(acknowledged_++).bytes);
      return;
    case Work::kWord:
    case Work::kRead:
      return;
  }
}

// The low half of how many messages the receiver has given back.
void SendEnd::on_word(uint32_t word) {
  const uint64_t released = released_ + (word - static_cast<uint32_t>(released_));
  if (released > posted_)
    return fail(
        error(Code::kRemoteError,
              "rank {} gave back {} messages of link {}->{} lane {}, which has sent {}; run "
              "one version of the library on all ranks",
              terms_.peer, released, spec_.source, spec_.destination, spec_.lane, posted_));
  released_ = released;
}

void SendEnd::on_frame(const net::FrameHeader& header, std::span<const std::byte> body) {
  if (header.kind != net::FrameKind::kSide || body.size() != sizeof(ReceiverSide) || receiver_)
    return fail(error(Code::kRemoteError,
                      "rank {} answered link {}->{} lane {} with what is no queue pair; run one "
                      "version of the library on all ranks",
                      terms_.peer, spec_.source, spec_.destination, spec_.lane));
  ReceiverSide receiver;
  std::memcpy(&receiver, body.data(), sizeof receiver);
  if (const Status status = start_queue(receiver.side); !status.ok()) return fail(status);
  receiver_ = receiver;
  post_committed();
}

void SendEnd::on_closed(const Status& why) {
  failure_.set(why);
}

}  // namespace strait::verbs
