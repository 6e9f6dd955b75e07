// The receiving end of a link over verbs: slots that the sender's NIC writes, and a queue in which
// each written message shows with its length and tag. Giving a slot back sends a word without bytes
// that says how many were given back in all; where the NIC has no room for a word, the next one
// says it too.
#pragma once

#include <memory>
#include <vector>

#include "transport/verbs/link_end.hpp"

namespace strait::verbs {

class RecvEnd final : public LinkEnd {
 public:
  // Answers the sender, who may write from then on. Takes the stream only if all goes well.
  static Result<std::unique_ptr<RecvEnd>> create(const LinkTerms& terms, const Side& sender,
                                                 net::Stream& stream, const net::Address& remote);
  ~RecvEnd();

  Message peek(uint32_t ahead);
  void release();
  SlotPlaces places();
  Status status();

 private:
  struct Entry {
    uint32_t bytes = 0;
    uint32_t tag = 0;
  };

  RecvEnd(const LinkTerms& terms, SlotMemory memory)
      : LinkEnd(terms), memory_(std::move(memory)), entries_(terms.spec.slots) {}

  Status answer(const Side& sender, net::Stream& stream, const net::Address& remote);
  void on_completion(const ibv_wc& completion) override;
  void on_frame(const net::FrameHeader& header, std::span<const std::byte> body) override;
  void on_closed(const Status& why) override;
  void on_room() override { tell_released(); }
  void on_message(const ibv_wc& completion);
  Status prepare_flush();
  void flush();
  void tell_released();
  Entry& entry(uint64_t sequence) { return entries_[sequence % entries_.size()]; }

  const SlotMemory memory_;
  std::vector<Entry> entries_;
  // Where kernels might see a completion before the bytes: a byte behind them is read back by the
  // NIC before a message counts as arrived.
  struct Flush {
    std::byte target{};
    Owned<ibv_mr> registration;
    uint64_t vouches_for = 0;  // the read under way, for so many messages; 0: there is none
  };
  std::unique_ptr<Flush> flush_;
  uint64_t landed_ = 0;    // messages whose completions have come
  uint64_t arrived_ = 0;   // of these, ready to be read
  uint64_t released_ = 0;  // by the owner
  uint64_t told_ = 0;      // of these, to the sender
  uint64_t words_sent_ = 0;
  uint64_t words_done_ = 0;
  std::optional<uint32_t> sent_;  // messages that the sender sent in all, as it said when it left
  Status left_;                   // the sender is gone
};

}  // namespace strait::verbs
