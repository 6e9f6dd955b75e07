#include "transport/ring/ring_link.hpp"

namespace strait {
namespace {

Status nonsense(const RingPort& port) {
  const LinkSpec& spec = port.spec();
  return error(Code::kRemoteError, "rank {} wrote nonsense into the ring of link {}->{} lane {}",
               port.peer_rank(), spec.source, spec.destination, spec.lane);
}

class RingSender final : public SendLink {
 public:
  RingSender(std::shared_ptr<RingPort> port, std::shared_ptr<const void> company)
      : company_(std::move(company)), port_(std::move(port)), view_(port_->view()) {}
  ~RingSender() override { port_->close(); }

  std::span<std::byte> send_slot() override {
    if (port_->stopped() || port_->peer_gone()) return {};
    const uint64_t taken = taken_.load(std::memory_order_relaxed);
    if (taken - released_ >= view_.slots && !see_released(taken)) return {};
    taken_.store(taken + 1, std::memory_order_relaxed);
    return {view_.slot(taken), view_.slot_bytes};
  }

  void commit(size_t bytes, uint32_t tag) override {
    STRAIT_CHECK(bytes > 0 && bytes <= view_.slot_bytes, "a message fills 1 byte to one slot");
    STRAIT_CHECK(committed_ != taken_.load(std::memory_order_relaxed), "no slot was taken");
    SlotHeader& header = view_.slot_header(committed_);
    header.bytes = bytes;
    header.tag = tag;
    ++committed_;
    // seq_cst here and in the consumer's see_committed(): either it sees the message or we see that
    // it waits.
    view_.header->committed.store(committed_, std::memory_order_seq_cst);
    if (view_.header->consumer_waits.load(std::memory_order_seq_cst) == 0) return;
    view_.header->consumer_waits.store(0, std::memory_order_relaxed);
    port_->peer_bell().ring();
  }

  bool flushed() const override {
    // Memory that nobody has attached goes with this process.
    return committed_ == 0 || view_.header->consumer_came.load(std::memory_order_acquire) != 0;
  }
  Status status() const override { return port_->status(true); }
  bool peer_gave_up() const override { return port_->peer_gave_up(); }
  void abort(const Status& why) override { port_->abort(why); }

 private:
  // Looks at what the consumer gave back; true if a slot is free.
  bool see_released(uint64_t taken) {
    RingHeader& header = *view_.header;
    released_ = header.released.load(std::memory_order_acquire);
    if (taken - released_ == view_.slots) {
      if (header.producer_waits.load(std::memory_order_relaxed) == 0)
        header.producer_waits.store(1, std::memory_order_seq_cst);
      released_ = header.released.load(std::memory_order_seq_cst);
    }
    const uint64_t in_use = taken - released_;
    if (in_use < view_.slots) return true;
    if (in_use > view_.slots) port_->fail(nonsense(*port_));
    return false;
  }

  const std::shared_ptr<const void> company_;
  const std::shared_ptr<RingPort> port_;
  const RingView view_;
  std::atomic<uint64_t> taken_{0};  // partner: the check in commit(), perhaps on another thread
  uint64_t released_ = 0;           // last seen; the taking thread's
  uint64_t committed_ = 0;          // the committing thread's
};

class RingReceiver final : public RecvLink {
 public:
  RingReceiver(std::shared_ptr<RingPort> port, std::shared_ptr<const void> company)
      : company_(std::move(company)), port_(std::move(port)), view_(port_->view()) {
    view_.header->consumer_came.store(1, std::memory_order_release);
  }
  ~RingReceiver() override { port_->close(); }

  Message recv_slot() override {
    if (port_->stopped()) return {};
    if (!oldest_.bytes.empty()) return oldest_;
    if (committed_ == released_ && !see_committed()) return {};
    const SlotHeader& header = view_.slot_header(released_);
    // Read once: the other side could change it after the check.
    const size_t bytes = static_cast<const volatile uint64_t&>(header.bytes);
    if (bytes == 0 || bytes > view_.slot_bytes) {
      port_->fail(nonsense(*port_));
      return {};
    }
    oldest_ = {{view_.slot(released_), bytes}, header.tag};
    return oldest_;
  }

  void release() override {
    STRAIT_CHECK(!oldest_.bytes.empty(), "no message was received");
    oldest_ = {};
    ++released_;
    // seq_cst here and in the producer's see_released(): either it sees the slot or we see that it
    // waits.
    view_.header->released.store(released_, std::memory_order_seq_cst);
    if (view_.header->producer_waits.load(std::memory_order_seq_cst) == 0) return;
    view_.header->producer_waits.store(0, std::memory_order_relaxed);
    port_->peer_bell().ring();
  }

  bool peer_gave_up() const override { return port_->peer_gave_up(); }
  Status status() const override {
    // A message may have come in between the look at the ring and the other rank's leaving.
    const bool gone = port_->peer_gone();
    const bool drained = oldest_.bytes.empty() &&
                         view_.header->committed.load(std::memory_order_acquire) == released_;
    return port_->status(gone && drained);
  }
  void abort(const Status& why) override { port_->abort(why); }

 private:
  // Looks at what the producer posted; true if there is a message.
  bool see_committed() {
    RingHeader& header = *view_.header;
    committed_ = header.committed.load(std::memory_order_acquire);
    if (committed_ == released_) {
      // Seldom a store while a rank polls many idle links: the line stays shared.
      if (header.consumer_waits.load(std::memory_order_relaxed) == 0)
        header.consumer_waits.store(1, std::memory_order_seq_cst);
      committed_ = header.committed.load(std::memory_order_seq_cst);
    }
    const uint64_t waiting = committed_ - released_;
    if (waiting > 0 && waiting <= view_.slots) return true;
    if (waiting > view_.slots) port_->fail(nonsense(*port_));
    return false;
  }

  const std::shared_ptr<const void> company_;
  const std::shared_ptr<RingPort> port_;
  const RingView view_;
  Message oldest_;          // until release()
  uint64_t committed_ = 0;  // last seen
  uint64_t released_ = 0;
};

}  // namespace

std::unique_ptr<SendLink> make_ring_sender(std::shared_ptr<RingPort> port,
                                           std::shared_ptr<const void> company) {
  return std::make_unique<RingSender>(std::move(port), std::move(company));
}

std::unique_ptr<RecvLink> make_ring_receiver(std::shared_ptr<RingPort> port,
                                             std::shared_ptr<const void> company) {
  return std::make_unique<RingReceiver>(std::move(port), std::move(company));
}

}  // namespace strait
