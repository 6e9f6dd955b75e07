#include <cstring>

#include "exec/cuda/link_turner.hpp"

namespace strait {
namespace {

class StagedSender final : public LinkTurner {
 public:
  StagedSender(MarkedRing ring, SendPort& port, const TurnerTerms& terms)
      : ring_(std::move(ring)), port_(port), terms_(terms) {}

  Result<Turn> turn(uint64_t) override {
    const auto posted = ring_.posted(sequence_);
    if (!posted) return Turn{};
    const std::span<std::byte> slot = port_.take();
    if (slot.empty()) {
      STRAIT_TRY(port_.link->status());
      return Turn{};
    }
    STRAIT_ASSIGN(const size_t bytes, fill(slot, *posted));
    port_.commit(bytes, posted->tag);
    ring_.set_released(++sequence_);
    return Turn{.moved = true, .completed = 1};
  }

 private:
  Result<size_t> fill(std::span<std::byte> slot, const MarkedRing::Posted& posted) {
    const std::byte* values = ring_.slot(sequence_);
    const DataType type = posted.type;
    if (terms_.edge.proxy_encodes(type))
      return encode_into_slot(port_, *terms_.traffic, raw_coding(), type, values + kChunkLead,
                              posted.bytes / size_of(type));
    STRAIT_CHECK(posted.bytes <= slot.size(), "a piece fits its slot");
    std::memcpy(slot.data(), values, posted.bytes);
    terms_.count(port_, ring_, posted);
    return size_t{posted.bytes};
  }

  Coding raw_coding() const {
    Coding coding = terms_.coding;
    coding.options.mode = codec::Mode::kRaw;
    coding.chooses_mode = false;
    return coding;
  }

  const MarkedRing ring_;
  SendPort& port_;
  const TurnerTerms terms_;
  uint64_t sequence_ = 0;
};

class StagedReceiver final : public LinkTurner {
 public:
  StagedReceiver(MarkedRing ring, RecvLink& link, const TurnerTerms& terms)
      : ring_(std::move(ring)), link_(link), terms_(terms) {}

  Result<Turn> turn(uint64_t) override {
    if (sequence_ - ring_.released() >= ring_.slots()) return Turn{};
    STRAIT_ASSIGN(const Message message, look_for(link_, 0));
    if (message.bytes.empty()) return Turn{};
    STRAIT_ASSIGN(const size_t bytes, take(message.bytes));
    ring_.post(sequence_++, static_cast<uint32_t>(bytes), message.tag);
    link_.release();
    return Turn{.moved = true, .completed = 1};
  }

 private:
  Result<size_t> take(std::span<const std::byte> message) {
    codec::ChunkInfo chunk;
    if (terms_.edge.coded) {
      STRAIT_ASSIGN(chunk, codec::inspect(message));
    }
    const bool decodes = terms_.edge.proxy_decodes(chunk.type);
    const size_t bytes = decodes ? chunk.count * size_of(chunk.type) : message.size();
    if (bytes + kChunkLead > ring_.slot_bytes())
      return error(Code::kInvalidUsage,
                   "a message of {} bytes does not fit a slot of {}: all ranks need the same "
                   "STRAIT_SLOT_BYTES",
                   bytes, ring_.slot_bytes() - kChunkLead);
    if (!link_.pin()) return failure_of(link_);
    std::byte* const slot = ring_.slot(sequence_);
    if (decodes)
      STRAIT_TRY(codec::decode(message, chunk.type, chunk.count, slot + kChunkLead));
    else
      std::memcpy(slot, message.data(), bytes);
    return bytes;
  }

  const MarkedRing ring_;
  RecvLink& link_;
  const TurnerTerms terms_;
  uint64_t sequence_ = 0;
};

}  // namespace

std::unique_ptr<LinkTurner> turn_staged(MarkedRing ring, SendPort& port, const TurnerTerms& terms) {
  return std::make_unique<StagedSender>(std::move(ring), port, terms);
}

std::unique_ptr<LinkTurner> turn_staged(MarkedRing ring, RecvLink& link, const TurnerTerms& terms) {
  return std::make_unique<StagedReceiver>(std::move(ring), link, terms);
}

}  // namespace strait
