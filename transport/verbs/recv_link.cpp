#include "transport/verbs/recv_link.hpp"

#include <arpa/inet.h>

namespace strait::verbs {
namespace {

// Words under way at most; every so many-th is acknowledged to us.
uint32_t words_max(const LinkSpec& spec) {
  return 2 * spec.slots;
}

}  // namespace

Result<std::unique_ptr<RecvEnd>> RecvEnd::create(const LinkTerms& terms, const Side& sender,
                                                 net::Stream& stream, const net::Address& remote) {
  STRAIT_ASSIGN(SlotMemory memory,
                SlotMemory::allocate(
                    terms.spec, *terms.queue.device,
                    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
                    terms.slots_to_write));
  std::unique_ptr<RecvEnd> end(new RecvEnd(terms, std::move(memory)));
  STRAIT_TRY(end->make_queue(words_max(terms.spec), terms.spec.slots, IBV_ACCESS_REMOTE_WRITE));
  if (end->memory_.on_gpu() && terms.slots_to_write->needs_flush())
    STRAIT_TRY(end->prepare_flush());
  STRAIT_TRY(end->answer(sender, stream, remote));
  return end;
}

Status RecvEnd::answer(const Side& sender, net::Stream& stream, const net::Address& remote) {
  std::lock_guard lock(mutex_);
  STRAIT_TRY(start_queue(sender));
  const ReceiverSide here{.side = side(),
                          .slots = {.address = reinterpret_cast<uint64_t>(memory_.slot(0)),
                                    .key = memory_.remote_key()}};
  const auto body = std::as_bytes(std::span(&here, 1));
  net::send_frame(stream, {.kind = net::FrameKind::kSide, .bytes = sizeof here}, body);
  return listen(std::move(stream), remote);
}

RecvEnd::~RecvEnd() {
  stop(nullptr);
}

Message RecvEnd::peek(uint32_t ahead) {
  if (failure_.failed() || ahead >= spec_.slots) return {};
  std::lock_guard lock(mutex_);
  const uint64_t sequence = released_ + ahead;
  const bool there = look([&] { return sequence < arrived_; });
  if (!there || failure_.failed()) return {};
  const Entry& message = entry(sequence);
  return {.bytes = {memory_.slot(sequence), message.bytes}, .tag = message.tag};
}

SlotPlaces RecvEnd::places() {
  std::lock_guard lock(mutex_);
  return memory_.places(released_);
}

void RecvEnd::release() {
  std::lock_guard lock(mutex_);
  STRAIT_CHECK(released_ < arrived_, "release without a message");
  ++released_;
  tell_released();
}

// The last word counts: one that finds no room is made up for by the next.
void RecvEnd::tell_released() {
  if (told_ == released_ || failure_.failed() || !left_.ok()) return;
  const auto full = [this] { return words_sent_ - words_done_ >= words_max(spec_); };
  if (full()) drain_armed();  // a completion brings us here again
  if (full()) return;
  ++words_sent_;
  told_ = released_;
  const int number =
      queue_->send_word(static_cast<uint32_t>(released_), words_sent_ % spec_.slots == 0);
  if (number != 0) fail_post("giving a slot back", number);
}

Status RecvEnd::status() {
  if (failure_.failed()) return failure_.status();
  std::lock_guard lock(mutex_);
  if (left_.ok() || released_ < arrived_) return Status();
  // What its NIC sent is here or will be in a moment.
  if (sent_ && *sent_ != static_cast<uint32_t>(arrived_)) return Status();
  return left_;
}

void RecvEnd::on_completion(const ibv_wc& completion) {
  switch (static_cast<Work>(completion.wr_id)) {
    case Work::kReceive:
      return on_message(completion);
    case Work::kWord:
      words_done_ += spec_.slots;
      return;
    case Work::kRead:
      arrived_ = std::exchange(flush_->vouches_for, 0);
      return flush();
    case Work::kWrite:
      return;
  }
}

void RecvEnd::on_message(const ibv_wc& completion) {
  if (completion.byte_len < 1 || completion.byte_len > spec_.slot_bytes ||
      landed_ == released_ + spec_.slots)
    return fail(error(Code::kRemoteError,
                      "rank {} sent what is no message of link {}->{} lane {} ({} bytes, {} of {} "
                      "slots in use); run one version of the library on all ranks",
                      terms_.peer, spec_.source, spec_.destination, spec_.lane, completion.byte_len,
                      landed_ - released_, spec_.slots));
  entry(landed_++) = {.bytes = completion.byte_len, .tag = ntohl(completion.imm_data)};
  flush_ ? flush() : void(arrived_ = landed_);
  if (const int number = queue_->receive_again(); number != 0)
    fail_post("posting a receive", number);
}

Status RecvEnd::prepare_flush() {
  flush_ = std::make_unique<Flush>();
  const Device& device = *terms_.queue.device;
  flush_->registration =
      own((device.calls().reg_mr)(device.domain(), &flush_->target, 1, IBV_ACCESS_LOCAL_WRITE),
          device.calls().dereg_mr);
  if (!flush_->registration)
    return verbs_error(fmt::format("registering a byte with {}", device.name()), errno);
  return make_flush_queue();
}

// One read at a time, for all that landed before it was posted.
void RecvEnd::flush() {
  if (arrived_ == landed_ || flush_->vouches_for != 0) return;
  const uint64_t last = landed_ - 1;
  flush_->vouches_for = landed_;
  const std::byte* const end = memory_.slot(last) + entry(last).bytes - 1;
  const int number = flush_queue_->read({{&flush_->target, 1}, flush_->registration->lkey},
                                        {reinterpret_cast<uint64_t>(end), memory_.remote_key()});
  if (number != 0) fail_post("reading back what came", number);
}

void RecvEnd::on_frame(const net::FrameHeader& header, std::span<const std::byte>) {
  if (header.kind == net::FrameKind::kLeave) sent_ = header.tag;
}

void RecvEnd::on_closed(const Status& why) {
  left_ = why;
}

}  // namespace strait::verbs
