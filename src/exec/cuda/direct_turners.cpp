#include "exec/cuda/link_turner.hpp"
#include "plan/tag.hpp"

namespace strait {
namespace {

// Takes slots of the link ahead, which lets the kernel fill them; what it posts goes out as it
// lies there.
class DirectSender final : public LinkTurner {
 public:
  DirectSender(MarkedRing ring, PinnedPlaces places, SendPort& port, const TurnerTerms& terms)
      : places_(std::move(places)),
        ring_(std::move(ring)),
        port_(port),
        terms_(terms),
        taken_(places_.places.next),
        sent_(taken_) {
    allow();
  }

  Result<Turn> turn(uint64_t) override {
    Turn turn{.moved = take_ahead()};
    // Without a slot the kernel may wait for ever: why is there none?
    if (taken_ == sent_) STRAIT_TRY(port_.link->status());
    const auto posted = taken_ == sent_ ? std::nullopt : ring_.posted(sent_);
    if (!posted) return turn;
    STRAIT_TRY(port_.link->status());
    port_.link->commit(finish(*posted), posted->tag);
    ++sent_;
    return Turn{.moved = true, .completed = 1};
  }

 private:
  bool take_ahead() {
    bool took = false;
    while (taken_ - sent_ < ring_.slots()) {
      const std::span<std::byte> slot = port_.link->send_slot();
      if (slot.empty()) break;
      STRAIT_CHECK(slot.data() == slot_at(taken_), "a link's slots come in the order of places");
      ++taken_;
      took = true;
    }
    if (took) allow();
    return took;
  }

  // The kernel begins with all slots and waits for those in use to be given back; so it has those
  // that are taken.
  void allow() const { ring_.set_released(taken_ - ring_.slots()); }

  std::byte* slot_at(uint64_t sequence) const {
    return places_.places.first + sequence % ring_.slots() * places_.places.stride;
  }

  // Returns the bytes to send.
  size_t finish(const MarkedRing::Posted& posted) {
    const DataType type = posted.type;
    if (terms_.edge.proxy_encodes(type)) {
      const size_t room = posted.bytes + kChunkLead;
      STRAIT_CHECK(room <= places_.places.stride, "a piece fits its slot");
      const size_t count = posted.bytes / size_of(type);
      if (places_.places.on_gpu)
        places_.places.heads[sent_ % ring_.slots()] = {codec::raw_header(type, count), true};
      else
        codec::wrap_raw(type, count, {slot_at(sent_), room}, terms_.coding.options);
      count_coded(port_, *terms_.traffic, posted.bytes, room);
      return room;
    }
    terms_.count(port_, ring_, posted);
    return posted.bytes;
  }

  const PinnedPlaces places_;
  const MarkedRing ring_;
  SendPort& port_;
  const TurnerTerms terms_;
  uint64_t taken_;  // slots of the link
  uint64_t sent_;   // messages
};

// Shows the kernel every message that has come; a slot goes back to the sender when the kernel has
// given it back.
class DirectReceiver final : public LinkTurner {
 public:
  DirectReceiver(MarkedRing ring, PinnedPlaces places, RecvLink& link, const TurnerTerms& terms)
      : places_(std::move(places)),
        ring_(std::move(ring)),
        link_(link),
        terms_(terms),
        shown_(places_.places.next),
        released_(shown_) {}

  Result<Turn> turn(uint64_t due) override {
    Turn turn;
    for (const uint64_t given_back = ring_.released(); released_ < given_back; ++released_) {
      link_.release();
      ++turn.completed;
    }
    turn.moved = turn.completed > 0;
    const uint64_t ahead = shown_ - released_;
    if (ahead == due - turn.completed || ahead == ring_.slots()) return turn;
    STRAIT_ASSIGN(const Message message, look_for(link_, static_cast<uint32_t>(ahead)));
    if (message.bytes.empty()) return turn;
    STRAIT_ASSIGN(const size_t bytes, values_in(message));
    ring_.post(shown_++, static_cast<uint32_t>(bytes), message.tag);
    turn.moved = true;
    return turn;
  }

 private:
  // What the kernel is told of the message's length: the chunk's, or its values'.
  Result<size_t> values_in(const Message& message) const {
    if (!terms_.edge.coded) return message.bytes.size();
    if (places_.places.on_gpu) return values_out_of_sight(message);
    STRAIT_ASSIGN(const codec::ChunkInfo chunk, codec::inspect(message.bytes));
    if (!terms_.edge.proxy_decodes(chunk.type)) return message.bytes.size();
    if (chunk.mode != codec::Mode::kRaw)
      return error(Code::kRemoteError,
                   "a chunk of {} came coded, which no rank on a GPU does: run one version of the "
                   "library on all ranks",
                   name_of(chunk.type));
    return chunk.count * size_of(chunk.type);
  }

  // The processor does not see the chunk: its tag says the type, and integers always travel raw.
  Result<size_t> values_out_of_sight(const Message& message) const {
    const std::optional<DataType> type = type_in_tag(message.tag);
    if (!type || !terms_.edge.proxy_decodes(*type)) return message.bytes.size();
    if (message.bytes.size() >= kChunkLead) return message.bytes.size() - kChunkLead;
    return error(Code::kRemoteError,
                 "a message of {} bytes came where a chunk should: run one version of the library "
                 "on all ranks",
                 message.bytes.size());
  }

  const PinnedPlaces places_;
  const MarkedRing ring_;
  RecvLink& link_;
  const TurnerTerms terms_;
  uint64_t shown_;     // messages
  uint64_t released_;  // the same, to the link
};

}  // namespace

std::unique_ptr<LinkTurner> turn_direct(MarkedRing ring, PinnedPlaces places, SendPort& port,
                                        const TurnerTerms& terms) {
  return std::make_unique<DirectSender>(std::move(ring), std::move(places), port, terms);
}

std::unique_ptr<LinkTurner> turn_direct(MarkedRing ring, PinnedPlaces places, RecvLink& link,
                                        const TurnerTerms& terms) {
  return std::make_unique<DirectReceiver>(std::move(ring), std::move(places), link, terms);
}

}  // namespace strait
