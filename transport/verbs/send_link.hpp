// The sending end of a link over verbs. Slot i of the sender is written into slot i of the receiver
// with exactly the bytes of its message; length and tag travel with the write's completion, so a
// slot holds nothing but the message. A slot is free again when the receiver has given it back,
// which a word without bytes tells.
#pragma once

#include <memory>

#include "transport/net/wire_meter.hpp"
#include "transport/verbs/link_end.hpp"

namespace strait::verbs {

// Made before the peer is dialled, since the handshake's note names its queue.
class SendEnd final : public LinkEnd {
 public:
  static Result<std::unique_ptr<SendEnd>> create(const LinkTerms& terms);
  ~SendEnd();

  Status start(net::Stream stream, const net::Address& remote) {
    return listen(std::move(stream), remote);
  }

  std::span<std::byte> send_slot();
  void commit(size_t bytes, uint32_t tag);
  SlotPlaces places();
  bool flushed();
  LinkRate rate();
  Status status() const { return failure_.status(); }

 private:
  struct Entry {
    uint32_t bytes = 0;
    uint32_t tag = 0;
  };

  SendEnd(const LinkTerms& terms, SlotMemory memory)
      : LinkEnd(terms), memory_(std::move(memory)), entries_(terms.spec.slots) {}

  void on_completion(const ibv_wc& completion) override;
  void on_frame(const net::FrameHeader& header, std::span<const std::byte> body) override;
  void on_closed(const Status& why) override;
  void on_word(uint32_t word);
  void post_committed();
  int write(uint64_t sequence, const Entry& message, const Queue::Place& there);
  Entry& entry(uint64_t sequence) { return entries_[sequence % entries_.size()]; }

  const SlotMemory memory_;
  std::vector<Entry> entries_;
  std::optional<ReceiverSide> receiver_;  // once it has answered
  net::WireMeter meter_;
  // Messages, in the order of their lives.
  uint64_t taken_ = 0;
  uint64_t committed_ = 0;
  uint64_t posted_ = 0;
  uint64_t acknowledged_ = 0;  // by the receiver's NIC
  uint64_t released_ = 0;      // by the receiver
};

}  // namespace strait::verbs
