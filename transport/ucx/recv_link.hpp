// The receiving end of a link over UCX. The place for message i is slot i, posted before the sender
// may send it. Giving a slot back posts it again and sends a word without bytes.
#pragma once

#include <memory>
#include <optional>

#include "transport/ucx/link_end.hpp"

namespace strait::ucx {

class RecvEnd final : public LinkEnd {
 public:
  // Answers the sender, whose id is given and who may send from then on. Takes the stream only if
  // all goes well.
  static Result<std::unique_ptr<RecvEnd>> create(const LinkTerms& terms, uint32_t sender,
                                                 net::Stream& stream, const net::Address& remote);
  ~RecvEnd();

  Message peek(uint32_t ahead);
  void release();
  SlotPlaces places();
  Status status();

 private:
  RecvEnd(const LinkTerms& terms, uint32_t sender) : LinkEnd(terms), sender_(sender) {}

  void on_landed(Operation& operation, ucs_status_t status) override;
  void on_frame(const net::FrameHeader& header) override;
  void on_closed(const Status& why) override;
  bool needs_peer() const override { return left_.ok() || awaits_more(); }
  bool awaits_more() const {
    return sent_ && static_cast<int32_t>(*sent_ - static_cast<uint32_t>(arrived_)) > 0;
  }
  void expect_message(uint64_t sequence);
  void tell_released();

  const uint32_t sender_;         // its id
  uint64_t arrived_ = 0;          // messages
  uint64_t released_ = 0;         // by the owner
  uint64_t told_ = 0;             // of these, to the sender
  std::optional<uint32_t> sent_;  // messages that the sender sent in all, as it said when it left
  Status left_;                   // the sender is gone
};

}  // namespace strait::ucx
