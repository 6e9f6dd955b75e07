// The sending end of a link over UCX. Message i goes out of slot i under the receiver's id and the
// number i, as soon as the receiver has told its id: then the places for all that may come are
// posted there. A slot is free again when its message has landed and the receiver's word, which has
// no bytes, has come back.
#pragma once

#include <memory>
#include <optional>

#include "transport/net/wire_meter.hpp"
#include "transport/ucx/link_end.hpp"

namespace strait::ucx {

// Made before the peer is dialled, since the handshake's note names its id.
class SendEnd final : public LinkEnd {
 public:
  static Result<std::unique_ptr<SendEnd>> create(const LinkTerms& terms);
  ~SendEnd();

  Status start(net::Stream stream, const net::Address& remote);

  std::span<std::byte> send_slot();
  void commit(size_t bytes, uint32_t tag);
  SlotPlaces places();
  bool flushed();
  LinkRate rate();
  Status status() const { return failure_.status(); }

 private:
  explicit SendEnd(const LinkTerms& terms) : LinkEnd(terms), bytes_(terms.spec.slots) {}

  void on_landed(Operation& operation, ucs_status_t status) override;
  void on_frame(const net::FrameHeader& header) override;
  void on_closed(const Status& why) override;
  void expect_word(uint64_t sequence);
  void post_committed();

  std::vector<size_t> bytes_;                // of the messages in the slots
  std::optional<uint32_t> receiver_;         // its id, once it has answered
  std::optional<uint32_t> received_in_all_;  // as the receiver said when it left
  net::WireMeter meter_;
  // Messages, in the order of their lives.
  uint64_t taken_ = 0;
  uint64_t committed_ = 0;
  uint64_t posted_ = 0;
  uint64_t landed_ = 0;
  uint64_t released_ = 0;
};

}  // namespace strait::ucx
