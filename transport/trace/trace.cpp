#include "transport/trace/trace.hpp"

#include <deque>

#include "transport/wrapped_transport.hpp"

namespace strait {
namespace {

// The sink goes after the ring, so that the file has every record.
struct Pen {
  std::shared_ptr<TraceSink> sink;
  std::shared_ptr<TraceRing> ring;
};

class TraceSender final : public SendLink {
 public:
  TraceSender(std::unique_ptr<SendLink> inner, Pen pen)
      : pen_(std::move(pen)), inner_(std::move(inner)) {}

  std::span<std::byte> send_slot() override { return inner_->send_slot(); }
  void commit(size_t bytes, uint32_t tag) override {
    pen_.ring->write(TraceKind::kCommit, bytes, tag);
    inner_->commit(bytes, tag);
  }
  bool reaches(std::span<const std::byte> bytes) const override { return inner_->reaches(bytes); }
  uint64_t lend(std::span<const std::byte> bytes, uint32_t tag) override {
    pen_.ring->write(TraceKind::kLend, bytes.size(), tag);
    return inner_->lend(bytes, tag);
  }
  bool returned(uint64_t number) override { return inner_->returned(number); }
  bool is_read() const override { return inner_->is_read(); }
  SlotPlaces places() override { return inner_->places(); }
  bool flushed() const override { return inner_->flushed(); }
  LinkRate rate() override { return inner_->rate(); }
  Status status() const override { return inner_->status(); }
  bool peer_gave_up() const override { return inner_->peer_gave_up(); }
  void abort(const Status& why) override { inner_->abort(why); }

 private:
  const Pen pen_;
  const std::unique_ptr<SendLink> inner_;
};

class TraceReceiver final : public RecvLink {
 public:
  TraceReceiver(std::unique_ptr<RecvLink> inner, Pen pen)
      : pen_(std::move(pen)), inner_(std::move(inner)) {}

  Message recv_slot() override { return peek(0); }
  Message peek(uint32_t ahead) override {
    const Message message = ahead == 0 ? inner_->recv_slot() : inner_->peek(ahead);
    if (!message.bytes.empty() && ahead == seen_.size()) {
      seen_.push_back(message);
      pen_.ring->write(TraceKind::kReceive, message.bytes.size(), message.tag);
    }
    return message;
  }
  bool pin() override { return inner_->pin(); }
  void unpin() override { inner_->unpin(); }
  SlotPlaces places() override { return inner_->places(); }
  void release() override {
    pen_.ring->write(TraceKind::kRelease, seen_.front().bytes.size(), seen_.front().tag);
    seen_.pop_front();
    inner_->release();
  }
  Status status() const override { return inner_->status(); }
  bool peer_gave_up() const override { return inner_->peer_gave_up(); }
  void abort(const Status& why) override { inner_->abort(why); }

 private:
  const Pen pen_;
  const std::unique_ptr<RecvLink> inner_;
  std::deque<Message> seen_;  // and not yet released
};

class TraceTransport final : public WrappedTransport {
 public:
  TraceTransport(std::unique_ptr<Transport> inner, std::shared_ptr<TraceSink> sink)
      : WrappedTransport(std::move(inner)), sink_(std::move(sink)) {}

  Result<std::unique_ptr<SendLink>> connect(const std::string& peer_address, const LinkSpec& spec,
                                            Deadline deadline) override {
    STRAIT_ASSIGN(auto link, WrappedTransport::connect(peer_address, spec, deadline));
    return std::unique_ptr<SendLink>(std::make_unique<TraceSender>(std::move(link), pen(spec)));
  }
  Result<std::unique_ptr<RecvLink>> accept(const std::string& peer_address, const LinkSpec& spec,
                                           Deadline deadline) override {
    STRAIT_ASSIGN(auto link, WrappedTransport::accept(peer_address, spec, deadline));
    return std::unique_ptr<RecvLink>(std::make_unique<TraceReceiver>(std::move(link), pen(spec)));
  }

 private:
  Pen pen(const LinkSpec& spec) const {
    return {sink_, sink_->open_ring(fmt::format("{} {}->{} lane {}", name(), spec.source,
                                                spec.destination, spec.lane))};
  }

  const std::shared_ptr<TraceSink> sink_;
};

}  // namespace

std::unique_ptr<Transport> trace(std::unique_ptr<Transport> inner,
                                 std::shared_ptr<TraceSink> sink) {
  return std::make_unique<TraceTransport>(std::move(inner), std::move(sink));
}

}  // namespace strait
